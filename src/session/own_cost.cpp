// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "session/own_cost.hpp"

#include "base/file.hpp"
#include "base/threads.hpp"
#include "process/process.hpp"
#include "record/step_series.hpp"

#include <takt/detail/hot.hpp>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <memory>
#include <new>

#include <fcntl.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// Returns the time that `work` takes, in ns: the median of several runs, as the thread may lose its core in some.
template <class Work>
double median_ns(Work work) noexcept {
  std::array<std::uint64_t, 21> took{};
  for (std::uint64_t& each : took) {
    const std::uint64_t begin = process_clock().now_ns();
    work();
    each = process_clock().now_ns() - begin;
  }
  std::nth_element(took.begin(), took.begin() + took.size() / 2, took.end());
  return static_cast<double>(took[took.size() / 2]);
}

/// Recorders for measurements, used by no thread and never destroyed. nullptr if memory is exhausted.
Shared make_shared() noexcept { return Shared(1U << 20U); }
Recorder* make_scratch() noexcept { return Recorder::create(process_clock(), made_once<make_shared>(), generation()); }
Recorder* scratch_recorder() noexcept { return made_once<make_scratch>(); }

/// Times an empty region as a Scope does; with the system's clock it takes a different code path.
void time_nothing(Recorder& recorder) noexcept {
  if (process_clock().source() == ClockSource::counter) { return recorder.plain_pair(kOtherKey); }
  recorder.end(recorder.begin(kOtherKey, kRegionUnusual));
}

/// Returns the time per row, in ns, of rows of a separate series whose Batch has `columns` paths below it.
double measure_row_ns(unsigned columns) {
  constexpr int kRows = 20;
  Tree tree(kEpochKey, kBatchKey);
  Node* const batch = tree.child(tree.root(), kBatchKey);
  for (unsigned column = 0; column < columns; ++column) {
    tree.child(batch, static_cast<KeyIndex>(kOtherKey + column));
  }
  StepSeries series(batch, false);
  OutboxPool pool(std::size_t{64} << 10U);
  return median_ns([&] {
           Outbox outbox(pool);
           if (!outbox.usable()) { return; }
           for (int row = 0; row < kRows; ++row) { series.finish_step(tree, &outbox, false); }
         }) /
         kRows;
}

/// Returns the cost, in ns, of cutting off the events of a Batch. Events are folded anyway, but in larger batches.
double measure_fold_ns() noexcept {
  constexpr int kFolds = 20;
  Recorder* const scratch = scratch_recorder();
  if (scratch == nullptr) { return 0; }
  const double each = median_ns([scratch] {
                        for (int fold = 0; fold < kFolds; ++fold) {
                          time_nothing(*scratch);
                          scratch->fold();
                        }
                      }) /
                      kFolds;
  return std::max(0.0, each - region_cost_ns());
}

RowCost measure_row_cost() noexcept {
  try {
    constexpr unsigned kSome = 8;
    const double without = measure_row_ns(0);
    return {without + measure_fold_ns(), std::max(0.0, measure_row_ns(kSome) - without) / kSome};
  } catch (const std::bad_alloc&) { return {}; }
}

/// Returns the number of row columns of each path that is a Batch with rows: the paths below it.
std::vector<std::uint32_t> columns_below(const Snapshot& snapshot) {
  std::vector<std::uint32_t> below(snapshot.paths.size());
  for (std::size_t path = snapshot.paths.size(); path-- > 0;) {
    const std::uint32_t parent = snapshot.paths[path].parent;
    if (parent < path) { below[parent] += below[path] + 1; }
  }
  return below;
}

double rows_ns(const Snapshot& snapshot) {
  double ns = 0;
  const std::vector<std::uint32_t> below = columns_below(snapshot);
  for (const Series& series : snapshot.series) {
    if (series.path >= below.size()) { continue; }
    const double columns = std::min(below[series.path], StepSeries::kColumns);
    ns += static_cast<double>(series.steps) * (row_cost().row_ns + columns * row_cost().column_ns);
  }
  return ns;
}

/// Returns the cost, in ns, of one region that `work` times or skips on a recorder.
template <class Work>
double measure_region_ns(Work work) noexcept {
  constexpr int kRegions = 100;
  Recorder* const scratch = scratch_recorder();
  if (scratch == nullptr) { return 0; }
  return median_ns([&] {
           for (int region = 0; region < kRegions; ++region) { work(*scratch); }
         }) /
         kRegions;
}

/// Skips a region as a Scope does for every().
void pass_over(Recorder& recorder) noexcept {
  constexpr std::uint32_t kSeldom = 1U << 20U;
  if (!recorder.sampled(kOtherKey, kSeldom)) { recorder.skip(kOtherKey); }
}

double measure_timed_ns() noexcept { return measure_region_ns(time_nothing); }
double measure_skipped_ns() noexcept { return measure_region_ns(pass_over); }

}  // namespace

double region_cost_ns() noexcept { return made_once<measure_timed_ns>(); }

double skipped_cost_ns() noexcept { return made_once<measure_skipped_ns>(); }

const RowCost& row_cost() noexcept { return made_once<measure_row_cost>(); }

std::int64_t overhead_ns(const Snapshot& snapshot) noexcept {
  double ns = 0;
  for (const PathStats& path : snapshot.paths) {
    ns += static_cast<double>(path.host.n()) * region_cost_ns();
    if (path.skipped != 0) { ns += static_cast<double>(path.skipped) * skipped_cost_ns(); }
  }
  try {
    ns += rows_ns(snapshot);
  } catch (const std::bad_alloc&) {}  // the estimate is incomplete
  return static_cast<std::int64_t>(ns) + background_cpu_ns();
}

namespace {

std::uint64_t system_monotonic_ns() noexcept { return posix_ns(CLOCK_MONOTONIC); }
std::uint64_t system_boot_ns() noexcept { return posix_ns(CLOCK_BOOTTIME); }
std::uint64_t system_cpu_ns() noexcept { return posix_ns(CLOCK_PROCESS_CPUTIME_ID); }

// The two clocks are read one after the other: a smaller difference is not a sleep.
constexpr std::uint64_t kMinSleepNs = 10'000'000;

std::uint64_t ns_beyond(std::uint64_t now, std::uint64_t before) noexcept { return now > before ? now - before : 0; }

}  // namespace

ProcessWatch::Clocks ProcessWatch::system_clocks() noexcept {
  return {system_monotonic_ns, system_boot_ns, system_cpu_ns, run_queue_ns};
}

ProcessWatch::ProcessWatch(const Clocks& clocks) noexcept
    : clocks_(clocks),
      asleep_before_ns_(asleep_ns()),
      thread_(this_thread_number()),
      waited_before_ns_(clocks_.waited_ns(thread_)),
      processors_(usable_processors()),
      waited_ns_(0) {}

void ProcessWatch::sleeps() noexcept {
  slept_at_ns_ = clocks_.monotonic_ns();
  slept_at_cpu_ns_ = clocks_.cpu_ns();
}

void ProcessWatch::wakes(std::uint64_t max_ns) noexcept {
  const std::uint64_t late = ns_beyond(clocks_.monotonic_ns(), slept_at_ns_ + max_ns);
  if (late < kLateNs) { return; }
  // If other threads were running, only this thread was late.
  if (ns_beyond(clocks_.cpu_ns(), slept_at_cpu_ns_) > max_ns + late / 10) { return; }
  stopped_ns_.fetch_add(late, std::memory_order_relaxed);
}

std::optional<std::int64_t> ProcessWatch::waited_ns() const noexcept {
  if (waited_before_ns_ < 0) { return std::nullopt; }
  const std::int64_t now = clocks_.waited_ns(thread_);
  if (now >= waited_before_ns_ && now >= 0) { waited_ns_.store(now - waited_before_ns_, std::memory_order_relaxed); }
  return waited_ns_.load(std::memory_order_relaxed);
}

ProcessTimes ProcessWatch::read() const noexcept {
  ProcessTimes times;
  times.cpu_ns = static_cast<std::int64_t>(ns_beyond(clocks_.cpu_ns(), cpu_zero_ns_));
  times.stopped_ns = static_cast<std::int64_t>(stopped_ns_.load(std::memory_order_relaxed));
  const std::uint64_t slept = ns_beyond(asleep_ns(), asleep_before_ns_);
  times.suspended_ns = slept < kMinSleepNs ? 0 : static_cast<std::int64_t>(slept);
  times.before_ns = before_ns_;
  times.waited_ns = waited_ns();
  times.processors = processors_;
  return times;
}

std::int64_t run_queue_ns(std::int64_t thread) noexcept {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%" PRId64 "/schedstat", thread);
  const Descriptor file(::open(path, O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) { return -1; }
  char text[96];
  const ssize_t count = ::read(file.number(), text, sizeof text - 1);
  if (count <= 0) { return -1; }
  text[count] = '\0';
  // "<ns on a processor> <ns in the run queue> <count>": all 0 if the kernel was built without it.
  std::uint64_t ran = 0;
  std::uint64_t waited = 0;
  std::uint64_t times = 0;
  const int numbers = std::sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &ran, &waited, &times);
  return numbers == 3 && times != 0 ? static_cast<std::int64_t>(waited) : -1;
}

std::int64_t this_thread_number() noexcept { return ::gettid(); }

std::optional<std::int64_t> usable_processors() noexcept {
  cpu_set_t usable;
  CPU_ZERO(&usable);
  // Machines with more than 1,024 processors need a larger set.
  if (::sched_getaffinity(0, sizeof usable, &usable) != 0) { return std::nullopt; }
  return CPU_COUNT(&usable);
}

}  // namespace detail
TAKT_END_NAMESPACE
