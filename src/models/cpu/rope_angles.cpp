#include "models/cpu/rope_angles.h"

#include "kernels/portable_math.h"

namespace emlx {
namespace {

constexpr double kTwoPi = 6.283185307179586;

// Long wavelengths are stretched by `factor`, short ones kept, those between interpolated (as
// transformers' and mlx_lm's llama3 RoPE).
double llama3_step(const RopeSpec& spec, double step) {
  const double context = spec.original_max_positions;
  const double wavelength = kTwoPi / step;
  if (wavelength > context / spec.low_freq_factor) return step / spec.factor;
  if (!(wavelength > context / spec.high_freq_factor)) return step;
  const double smooth = (context / wavelength - spec.low_freq_factor) /
                        (spec.high_freq_factor - spec.low_freq_factor);
  return step * ((1 - smooth) / spec.factor + smooth);
}

}  // namespace

RopeAngles::RopeAngles(const RopeSpec& spec) {
  const double log_theta = portable_log(spec.theta);
  for (int i = 0; i < spec.dims / 2; ++i) {
    const double step = portable_exp(-2.0 * i / spec.dims * log_theta);
    steps_.push_back(spec.kind == RopeSpec::Kind::Llama3 ? llama3_step(spec, step)
                                                         : step * spec.scale);
  }
}

void RopeAngles::write(int position, float* cosines, float* sines) const noexcept {
  for (const double step : steps_) {
    const SinCos at = portable_sincos(position * step);
    *cosines++ = static_cast<float>(at.cosine);
    *sines++ = static_cast<float>(at.sine);
  }
}

}  // namespace emlx
