// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "history/slow_steps.hpp"

#include <takt/detail/counter.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

void SlowSteps::add(const SlowStep& step) {
  if (steps_ != 0) {
    const std::uint64_t gap = step.place - last_place_;
    const auto known = gaps_.find(gap);
    if (known != gaps_.end()) {
      ++known->second;
    } else if (gaps_.size() < kMostGaps) {
      gaps_.emplace(gap, 1);
    }
  } else {
    first_step_ = step.step;
  }
  if (steps_ == 0 || step.excess_ns > worst_excess_ns_) {
    worst_step_ = step.step;
    worst_excess_ns_ = step.excess_ns;
  }
  ++steps_;
  after_breaks_ += step.after_break ? 1 : 0;
  excess_ns_ = bounded_sum(excess_ns_, step.excess_ns);
  excess_squares_ += static_cast<double>(step.excess_ns) * static_cast<double>(step.excess_ns);
  ratios_ += step.ratio;
  last_step_ = step.step;
  last_place_ = step.place;
}

}  // namespace detail
TAKT_END_NAMESPACE
