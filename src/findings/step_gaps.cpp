// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "findings/step_gaps.hpp"

#include <cmath>
#include <cstdlib>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

// With fewer the same length may be chance.
constexpr std::uint64_t kFewestEqualGaps = 3;
constexpr std::uint64_t kFewestAlikeGaps = 5;
constexpr double kMostOfGaps = 0.9;
constexpr double kAlike = 0.05;

}  // namespace

StepGaps gaps_of(const SlowSteps& slow) {
  StepGaps gaps;
  const std::uint64_t all = slow.steps() - (slow.steps() == 0 ? 0 : 1);
  std::uint64_t below = 0;
  for (const auto& [length, count] : slow.gaps()) {
    below += count;
    gaps.length = length;
    if (2 * below >= all) { break; }
  }
  std::uint64_t equal = 0;
  std::uint64_t alike = 0;
  const auto middle = static_cast<double>(gaps.length);
  for (const auto& [length, count] : slow.gaps()) {
    equal += length == gaps.length ? count : 0;
    alike += std::fabs(static_cast<double>(length) - middle) <= kAlike * middle ? count : 0;
  }
  const double most = kMostOfGaps * static_cast<double>(all);
  // Slow steps that follow each other are one slow time, and not a rhythm.
  if (gaps.length < 2) { return gaps; }
  if (all >= kFewestEqualGaps && static_cast<double>(equal) >= most) {
    gaps.are = StepGaps::Are::equal;
  } else if (all >= kFewestAlikeGaps && static_cast<double>(alike) >= most) {
    gaps.are = StepGaps::Are::alike;
  }
  return gaps;
}

}  // namespace detail
TAKT_END_NAMESPACE
