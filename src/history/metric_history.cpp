// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "history/metric_history.hpp"

#include <algorithm>
#include <cmath>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

void join(MetricBlock& block, const MetricBlock& behind) noexcept {
  block.points += behind.points;
  block.last_step = behind.last_step;
  block.sum += behind.sum;
  block.least = std::min(block.least, behind.least);
  block.most = std::max(block.most, behind.most);
}

}  // namespace

void MetricHistory::halve() {
  std::size_t kept = 0;
  for (std::size_t at = 0; at < blocks_.size(); at += 2) {
    blocks_[kept] = blocks_[at];
    if (at + 1 < blocks_.size()) { join(blocks_[kept], blocks_[at + 1]); }
    ++kept;
  }
  blocks_.resize(kept);
  stride_ *= 2;
}

void MetricHistory::add(const Metric& metric) {
  ++points_;
  if (!std::isfinite(metric.value)) {
    ++not_finite_;
    return;
  }
  last_ = metric.value;
  const MetricBlock point = {1, metric.step, metric.step, metric.value, metric.value, metric.value};
  if (!blocks_.empty() && blocks_.back().points < stride_) { return join(blocks_.back(), point); }
  if (blocks_.size() == kMostBlocks) { halve(); }
  blocks_.push_back(point);
}

}  // namespace detail
TAKT_END_NAMESPACE
