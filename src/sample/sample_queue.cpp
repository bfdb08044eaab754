// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "sample/sample_queue.hpp"

#include <iterator>

TAKT_BEGIN_NAMESPACE
namespace detail {

std::uint32_t SampleQueue::add(std::vector<Meter> meters, std::vector<Unsampled> unsampled) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::uint32_t first = meters_;
  meters_ += static_cast<std::uint32_t>(meters.size());
  news_.meters.insert(news_.meters.end(), std::make_move_iterator(meters.begin()),
                      std::make_move_iterator(meters.end()));
  news_.unsampled.insert(news_.unsampled.end(), std::make_move_iterator(unsampled.begin()),
                         std::make_move_iterator(unsampled.end()));
  return first;
}

void SampleQueue::push(std::uint32_t first, std::vector<Reading>& readings) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (Reading& each : readings) {
    const std::uint32_t meter = first + each.meter;
    if (!each.lost.empty()) {
      news_.lost.emplace_back(meter, std::move(each.lost));
    } else if (news_.samples.size() >= most_) {
      ++dropped_;
    } else {
      Sample sample;
      sample.meter = meter;
      sample.time_ns = each.time_ns;
      sample.values = std::move(each.values);
      news_.samples.push_back(std::move(sample));
    }
  }
}

SampleQueue::News SampleQueue::take() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(news_, News());
}

std::uint64_t SampleQueue::dropped() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return dropped_;
}

}  // namespace detail
TAKT_END_NAMESPACE
