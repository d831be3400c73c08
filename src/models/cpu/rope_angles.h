// RoPE's angles, with the same bits on every machine.
#pragma once

#include <vector>

#include "models/decoder_spec.h"

namespace emlx {

// angle(position, i) = position * scale * theta^(-2i / dims), or llama3's stretched wavelengths, in
// doubles; cosines and sines rounded to float32. mlx_lm computes the angles in float32: at position
// p they differ from these by up to p * 2^-23 radians or so.
class RopeAngles {
 public:
  explicit RopeAngles(const RopeSpec& spec);

  int pairs() const noexcept { return static_cast<int>(steps_.size()); }
  // Writes [pairs] cosines and sines; 0 <= position < 2^26.
  void write(int position, float* cosines, float* sines) const noexcept;

 private:
  std::vector<double> steps_;  // radians a position
};

}  // namespace emlx
