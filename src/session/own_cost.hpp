// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>
#include <takt/snapshot.hpp>

#include <atomic>
#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Cost of one region for the thread that times it, in ns, including folding; measured once in about 0.1 ms. Any
/// thread.
double region_cost_ns() noexcept;
/// Cost of a region that every() skips, in ns.
double skipped_cost_ns() noexcept;

/// Additional cost of the end of a Batch, in ns: cutting off its events, and the row with its columns.
struct RowCost {
  double row_ns = 0;
  double column_ns = 0;
};
/// Measured once, in about 0.1 ms. Any thread.
const RowCost& row_cost() noexcept;

/// Returns Takt's own cost so far, in ns: estimated cost of the regions and rows of a snapshot, plus the processor time
/// of Takt's threads. Any thread.
std::int64_t overhead_ns(const Snapshot& snapshot) noexcept;

/// Measures whether the process runs: its processor time, how long it was stopped, how long the machine slept, and how
/// long the creating thread waited for a processor. One thread calls sleeps() and wakes(); any thread may read.
class ProcessWatch {
 public:
  /// Clocks, in ns; tests replace them.
  struct Clocks {
    std::uint64_t (*monotonic_ns)() noexcept;                 ///< stops while the machine sleeps
    std::uint64_t (*boot_ns)() noexcept;                      ///< continues while the machine sleeps
    std::uint64_t (*cpu_ns)() noexcept;                       ///< processor time of all threads
    std::int64_t (*waited_ns)(std::int64_t thread) noexcept;  ///< like run_queue_ns()
  };
  static Clocks system_clocks() noexcept;

  /// A smaller delay of the thread is ignored: it is normal on a busy machine.
  static constexpr std::uint64_t kLateNs = 500'000'000;

  ProcessWatch() noexcept : ProcessWatch(system_clocks()) {}
  explicit ProcessWatch(const Clocks& clocks) noexcept;

  /// Sets the process's processor time at the start of the run.
  void begin_at_cpu(std::uint64_t cpu_ns) noexcept { cpu_zero_ns_ = cpu_ns; }
  /// Sets the age of the run, in ns, at the creation of this object.
  void set_before(std::int64_t ns) noexcept { before_ns_ = ns; }

  /// Call it before the thread sleeps.
  void sleeps() noexcept;
  /// Call it when the thread wakes, which was due after `max_ns` at the latest. If it is much later and the process got
  /// almost no processor time, the process was stopped; the delay is a lower bound, as the stop may have begun during
  /// the sleep.
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
  mutable std::atomic<std::int64_t> waited_ns_;  // last known value; kept after the thread has ended
};

/// Returns how long, in ns, a thread of this process was ready to run without a processor; -1: not supported, or the
/// thread has ended. \param thread the kernel's thread id. Any thread; reads a file.
std::int64_t run_queue_ns(std::int64_t thread) noexcept;

/// Returns the kernel's thread id of the calling thread.
std::int64_t this_thread_number() noexcept;

/// Number of processors that the calling thread may use; empty: unknown.
std::optional<std::int64_t> usable_processors() noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
