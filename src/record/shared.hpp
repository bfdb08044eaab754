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

/// What the recorders of a process have in common. Outlives them. Any thread.
struct Shared {
  explicit Shared(std::size_t memory_bytes) noexcept : budget(memory_bytes) {}

  MemoryBudget budget;
  OutboxPool outbox_pool{4U << 20U};
  Alarm alarm;  ///< rings when outboxes fill up: the collector is not to wait for the end of its period
  SeriesList series;

  // What the figures do not contain.
  /// Regions of an operator new of the program that a recorder called (Recorder::Inside).
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
