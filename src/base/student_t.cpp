// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/student_t.hpp"

#include <algorithm>
#include <cmath>

#include <math.h>  // lgamma_r(), which is POSIX's

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// The continued fraction of the incomplete beta function, by Lentz's method. It is fast for x < (a+1) / (a+b+2).
double beta_fraction(double a, double b, double x) noexcept {
  constexpr double kTiny = 1e-300;
  constexpr int kMostTerms = 10'000;
  const auto kept = [](double value) { return std::fabs(value) < kTiny ? kTiny : value; };
  double c = 1;
  double d = 1 / kept(1 - (a + b) * x / (a + 1));
  double fraction = d;
  for (int m = 1; m < kMostTerms; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    double change = 1;
    for (const double term : {even, odd}) {
      d = 1 / kept(1 + term * d);
      c = kept(1 + term / c);
      change = c * d;
      fraction *= change;
    }
    if (std::fabs(change - 1) < 1e-15) { break; }
  }
  return fraction;
}

/// std::lgamma() writes the sign of the gamma function to a variable of the whole process, which the program may use.
double log_gamma(double x) noexcept {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

/// The regularised incomplete beta function.
double incomplete_beta(double a, double b, double x) noexcept {
  if (x <= 0 || x >= 1) { return x <= 0 ? 0 : 1; }
  const double front = std::exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) { return front * beta_fraction(a, b, x) / a; }
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

}  // namespace

double student_t_probability(double t, double degrees) noexcept {
  const double tail = incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t)) / 2;
  return t < 0 ? tail : 1 - tail;
}

double student_t_quantile(double probability, double degrees) noexcept {
  double low = 0;
  double high = 1;
  while (student_t_probability(high, degrees) < probability && high < 1e12) { high *= 2; }
  while (high - low > 1e-9 * std::max(1.0, high)) {
    const double middle = (low + high) / 2;
    (student_t_probability(middle, degrees) < probability ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace detail
TAKT_END_NAMESPACE
