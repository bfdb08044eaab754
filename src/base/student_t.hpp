// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// The probability of a value of at most `t` by Student's t distribution: the incomplete beta function as a continued
/// fraction (Abramowitz and Stegun 26.7.1 and 26.5.8). REQUIRES: degrees > 0, which need not be whole. Any thread.
double student_t_probability(double t, double degrees) noexcept;

/// The value that is exceeded with probability 1 - `probability`, within 1e-9. REQUIRES: 0.5 <= probability < 1 and
/// degrees >= 1. Any thread.
double student_t_quantile(double probability, double degrees) noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
