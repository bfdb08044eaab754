// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>
#include <takt/snapshot.hpp>

#include <atomic>
#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What one region costs the thread that times it, in ns, folding included; measured once, in about 0.1 ms. Any thread.
double region_cost_ns() noexcept;
/// The same of one that every() passes over.
double skipped_cost_ns() noexcept;

/// What the end of a Batch costs beside that, in ns: cutting off its events, and the row with its columns.
struct RowCost {
  double row_ns = 0;
  double column_ns = 0;
};
/// Measured once, in about 0.1 ms. Any thread.
const RowCost& row_cost() noexcept;

/// Takt's own cost so far, in ns: regions and rows of a snapshot by what one costs, and the processor time of the
/// threads that Takt has started. Any thread.
std::int64_t overhead_ns(const Snapshot& snapshot) noexcept;

/// Tells whether the process runs at all: how much processor time it gets, for how long it was stopped, for how long
/// the machine slept, and for how long the thread that made this waited for a processor. One thread sleeps and wakes;
/// any thread may read.
class ProcessWatch {
 public:
  /// Of the system; tests put their own in its place. In ns.
  struct Clocks {
    std::uint64_t (*monotonic_ns)() noexcept;                 ///< stands still while the machine sleeps
    std::uint64_t (*boot_ns)() noexcept;                      ///< the same, but goes on then
    std::uint64_t (*cpu_ns)() noexcept;                       ///< processor time of all threads
    std::int64_t (*waited_ns)(std::int64_t thread) noexcept;  ///< as run_queue_ns()
  };
  static Clocks system_clocks() noexcept;

  /// A thread that comes late by less says nothing: a busy machine does that.
  static constexpr std::uint64_t kLateNs = 500'000'000;

  ProcessWatch() noexcept : ProcessWatch(system_clocks()) {}
  explicit ProcessWatch(const Clocks& clocks) noexcept;

  /// The run began when the process had used so much processor time already.
  void begin_at_cpu(std::uint64_t cpu_ns) noexcept { cpu_zero_ns_ = cpu_ns; }
  /// The run began so long before this was made.
  void set_before(std::int64_t ns) noexcept { before_ns_ = ns; }

  /// The thread goes to sleep.
  void sleeps() noexcept;
  /// It is awake, and wanted to be after `max_ns` at the latest. Where it is much later, and the process got next to
  /// no processor time meanwhile, the process did not run: at least from that moment on, as the stop may have begun at
  /// any time of the sleep.
  void wakes(std::uint64_t max_ns) noexcept;

  ProcessTimes read() const noexcept;

 private:
  std::optional<std::int64_t> waited_ns() const noexcept;
  std::uint64_t asleep_ns() const noexcept { return clocks_.boot_ns() - clocks_.monotonic_ns(); }

  Clocks clocks_;
  std::uint64_t cpu_zero_ns_ = 0;
  std::uint64_t asleep_before_ns_ = 0;
  std::int64_t before_ns_ = 0;
  std::uint64_t slept_at_ns_ = 0;
  std::uint64_t slept_at_cpu_ns_ = 0;
  std::atomic<std::uint64_t> stopped_ns_{0};
  std::int64_t thread_;
  std::int64_t waited_before_ns_;
  std::optional<std::int64_t> processors_;
  mutable std::atomic<std::int64_t> waited_ns_;  // as last known: a thread that has ended waits for nothing any more
};

/// For how long, in ns, a thread of this process has been ready to run and had no processor; -1: the system does not
/// tell, or the thread has ended. \param thread its number in the system. Any thread; reads a file.
std::int64_t run_queue_ns(std::int64_t thread) noexcept;

/// The number of the calling thread in the system.
std::int64_t this_thread_number() noexcept;

/// That the calling thread may use, of those that are there; 0: not known.
std::optional<std::int64_t> usable_processors() noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
