// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/detail/memory.hpp>

#include "record/outbox.hpp"
#include "record/step_series.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// State shared by the recorders of a process. Outlives them. Any thread.
struct Shared {
  explicit Shared(std::size_t memory_bytes) noexcept : budget(memory_bytes) {}

  MemoryBudget budget;
  OutboxPool outbox_pool{4U << 20U};
  Alarm alarm;  ///< rings when outboxes fill, so that the collector does not wait for the end of its interval
  SeriesList series;

  // Counts of data missing from the results.
  /// Regions of the program's operator new, called by a recorder (Recorder::ReentryGuard).
  std::atomic<std::uint64_t> nested{0};
  std::atomic<std::uint64_t> steps_without_rows{0};
  std::atomic<std::uint64_t> metrics_without_space{0};

  void count_nested() noexcept { nested.fetch_add(1, std::memory_order_relaxed); }
  void ask_for_collection() noexcept {
    if (outbox_pool.used() >= outbox_pool.limit() / 8) { alarm.ring(); }
  }
};

}  // namespace detail
TAKT_END_NAMESPACE
