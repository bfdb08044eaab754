// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "history/slow_steps.hpp"

#include <takt/detail/counter.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

void SlowSteps::add(std::uint64_t place, std::int64_t step, std::uint64_t excess_ns, double ratio) {
  if (steps_ != 0) {
    const std::uint64_t gap = place - last_place_;
    const auto known = gaps_.find(gap);
    if (known != gaps_.end()) {
      ++known->second;
    } else if (gaps_.size() < kMostGaps) {
      gaps_.emplace(gap, 1);
    }
  } else {
    first_step_ = step;
  }
  if (steps_ == 0 || excess_ns > worst_excess_ns_) {
    worst_step_ = step;
    worst_excess_ns_ = excess_ns;
  }
  ++steps_;
  excess_ns_ = bounded_sum(excess_ns_, excess_ns);
  ratios_ += ratio;
  last_step_ = step;
  last_place_ = place;
}

}  // namespace detail
TAKT_END_NAMESPACE
