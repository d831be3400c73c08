#include "models/mlx/mlx_rope.h"

#include <mlx/fast.h>
#include <mlx/ops.h>

#include <numbers>

namespace emlx {
namespace {

mx::array scalar(double value) {
  return mx::array(static_cast<float>(value));
}

// Long wavelengths are stretched by `factor`, short ones kept, those between are interpolated. The
// order of operations is mlx_lm's: each rounds in float32.
mx::array llama3_frequencies(const RopeSpec& spec) {
  const double context = spec.original_max_positions;
  const double low = spec.low_freq_factor, high = spec.high_freq_factor;
  const mx::array factor = scalar(spec.factor);

  mx::array exponents = mx::divide(mx::arange(0, spec.dims, 2), mx::array(spec.dims));
  mx::array freqs = mx::power(scalar(spec.theta), exponents);
  mx::array wavelengths = mx::multiply(scalar(2 * std::numbers::pi), freqs);
  mx::array is_long = mx::greater(wavelengths, scalar(context / low));
  mx::array is_medium = mx::logical_and(mx::greater(wavelengths, scalar(context / high)),
                                        mx::less(wavelengths, scalar(context / low)));
  freqs = mx::where(is_long, mx::multiply(freqs, factor), freqs);
  mx::array smooth = mx::divide(mx::subtract(mx::divide(scalar(context), wavelengths), scalar(low)),
                                scalar(high - low));
  mx::array stretch = mx::add(mx::divide(mx::subtract(scalar(1), smooth), factor), smooth);
  return mx::where(is_medium, mx::divide(freqs, stretch), freqs);
}

}  // namespace

MlxRope::MlxRope(const RopeSpec& spec) : spec_(spec) {
  if (spec.kind == RopeSpec::Kind::Llama3) {
    frequencies_ = llama3_frequencies(spec);
    frequencies_->eval();
  }
}

mx::array MlxRope::operator()(const mx::array& x, int offset) const {
  const std::optional<float> theta =
      frequencies_ ? std::nullopt : std::optional<float>(spec_.theta);
  return mx::fast::rope(x, spec_.dims, spec_.traditional, theta, spec_.scale, offset, frequencies_);
}

}  // namespace emlx
