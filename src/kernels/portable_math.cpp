#include "kernels/portable_math.h"

#include <cmath>
#include <cstdint>
#include <cstring>

namespace emlx {
namespace {

// ln(2) and pi / 2 in two parts: products of the first with integers below 2^20 (2^27) are exact.
constexpr double kLn2High = 0x1.62e42feep-1, kLn2Low = 0x1.a39ef35793c76p-33;
constexpr double kHalfPiHigh = 0x1.921fb54p+0, kHalfPiMiddle = 0x1.10b46p-30,
                 kHalfPiLow = 0x1.1a62633145c07p-54;

// 2^n, n in [-1022, 1023].
double power_of_two(int n) noexcept {
  const std::uint64_t bits = static_cast<std::uint64_t>(n + 1023) << 52;
  double value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// sum of r^k / k! for k = first, first + 2, ... (signs alternating): Horner's scheme.
double alternating_series(double first_term, double square, int first, int last) noexcept {
  double sum = 1;
  for (int k = last; k > first; k -= 2) sum = 1 - square * sum / (k * (k - 1));
  return first_term * sum;
}

}  // namespace

// x = m 2^e with m in [sqrt(1/2), sqrt(2)); log m = 2 artanh((m - 1) / (m + 1)).
double portable_log(double x) noexcept {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &x, sizeof bits);
  int e = static_cast<int>(bits >> 52) - 1023;
  bits = (bits & 0x000fffffffffffffU) | 0x3ff0000000000000U;  // the mantissa alone
  double m = 0;
  std::memcpy(&m, &bits, sizeof m);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++e;
  }
  const double s = (m - 1) / (m + 1), square = s * s;
  double sum = 0;
  for (int k = 23; k >= 3; k -= 2) sum = (sum + 1.0 / k) * square;
  return e * kLn2High + (e * kLn2Low + 2 * (s + s * sum));
}

// x = n ln 2 + r, |r| <= ln(2) / 2; Taylor's series for e^r.
double portable_exp(double x) noexcept {
  const int n = static_cast<int>(std::lround(x / (kLn2High + kLn2Low)));
  const double r = (x - n * kLn2High) - n * kLn2Low;
  double sum = 1;
  for (int k = 14; k >= 1; --k) sum = 1 + r * sum / k;
  return sum * power_of_two(n);
}

// x = n pi / 2 + r, |r| <= pi / 4.
SinCos portable_sincos(double x) noexcept {
  const auto n = std::llround(x / 1.5707963267948966);
  const auto turns = static_cast<double>(n);
  const double r = ((x - turns * kHalfPiHigh) - turns * kHalfPiMiddle) - turns * kHalfPiLow;
  const double square = r * r;
  const double sine = alternating_series(r, square, 1, 17);
  const double cosine = alternating_series(1, square, 0, 18);
  switch (n & 3) {
    case 0:
      return {sine, cosine};
    case 1:
      return {cosine, -sine};
    case 2:
      return {-sine, -cosine};
    default:
      return {-cosine, sine};
  }
}

}  // namespace emlx
