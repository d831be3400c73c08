// log, exp, sine and cosine from IEEE double sums, products and quotients alone: the same bits on
// every machine and C library, within about 1 ulp. For tables computed once, not for inner loops.
#pragma once

namespace emlx {

double portable_log(double x) noexcept;  // x finite, normal and > 0
double portable_exp(double x) noexcept;  // |x| <= 700

struct SinCos {
  double sine, cosine;
};
SinCos portable_sincos(double x) noexcept;  // 0 <= x < 2^27; absolute error below 1e-15

}  // namespace emlx
