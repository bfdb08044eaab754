// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "record/outbox.hpp"

TAKT_BEGIN_NAMESPACE
namespace detail {

bool Outbox::grow(std::size_t bytes, Record::Type type) noexcept {
  grown_ = true;
  OutboxPool::Block* const next = bytes > kMostBytes ? nullptr : pool_.take();
  if (next == nullptr) {
    dropped_[static_cast<int>(type)].fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  write_->bytes = static_cast<std::uint32_t>(written_);
  write_->next.store(next, std::memory_order_release);  // pairs with front()
  write_ = next;
  written_ = 0;
  return true;
}

bool Outbox::put_metric(const MetricRecord& metric) noexcept {
  if (!PackedMetric::fits(metric, last_written_)) {
    if (!put(metric, Record::Type::metric)) { return false; }
  } else {
    void* const place = reserve(sizeof(PackedMetric), Record::Type::metric);
    if (place == nullptr) { return false; }
    const PackedMetric packed(metric, last_written_);
    std::memcpy(place, &packed, sizeof(packed));
    push(sizeof(packed));
  }
  last_written_ = metric;
  return true;
}

const MetricRecord& Outbox::metric(const Record& record) noexcept {
  if (record.type == Record::Type::packed_metric) {
    PackedMetric::get(&record, last_read_);
  } else {
    last_read_ = static_cast<const MetricRecord&>(record);
  }
  return last_read_;
}

}  // namespace detail
TAKT_END_NAMESPACE
