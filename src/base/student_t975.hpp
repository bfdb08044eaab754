// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// 97.5 % quantile of Student's t: from tables up to ten degrees of freedom, above by the expansion in 1/n of
/// Abramowitz and Stegun 26.7.5, which is then within 0.02 %. REQUIRES: degrees >= 1. Any thread.
double student_t975(std::uint64_t degrees) noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
