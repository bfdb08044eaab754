// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>
#include <takt/detail/memory.hpp>
#include <takt/key.hpp>
#include <takt/snapshot.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Number of consecutive windows of a run.
inline constexpr std::size_t kStepWindows = 10;
/// Minimum number of steps to compare ranks; with fewer, the windows have no meaningful median.
inline constexpr std::size_t kMinComparedSteps = 3 * kStepWindows;

/// The steps [first, last).
struct StepWindow {
  std::size_t first = 0;
  std::size_t last = 0;

  std::size_t steps() const noexcept { return last - first; }
};
/// Returns window `window`, counted from 0, of a run with this number of steps. Any thread.
constexpr StepWindow step_window(std::size_t window, std::size_t steps) noexcept {
  return {window * steps / kStepWindows, (window + 1) * steps / kStepWindows};
}

/// Returns the median of each window of values per step. REQUIRES: kMinComparedSteps values. Any thread.
std::vector<double> window_medians(const std::vector<double>& by_step);
/// Returns each value's distance from its window's median, scaled up because the median of few values is too close to
/// them. Effects that last for a window are not included. REQUIRES: kMinComparedSteps values. Any thread.
std::vector<double> window_distances(const std::vector<double>& by_step);

/// A rank in a comparison.
struct JobRank {
  std::uint32_t number = 0;
  std::string host;
  std::string group;  ///< "stage 2": ranks of equal groups are compared; empty if there are no groups
  int stage = kNoStage;
  unsigned micro_batches = 0;  ///< reported by the rank; 0 if it did not

  static constexpr int kNoStage = -1;
};

/// A region within a step, with its own time, excluding inner regions. A region with work on streams has separate host
/// and stream entries.
struct JobRegion {
  std::string name;
  Kind kind = Kind::other;
  bool on_stream = false;  ///< its stream spans, during which the host does something else

  /// Returns true if a rank may spend time here because other ranks are late.
  bool waits() const noexcept { return kind == Kind::comm || kind == Kind::wait; }
  /// Returns a printable name.
  std::string label() const { return on_stream ? name + " (on streams)" : name; }

  friend bool operator<(const JobRegion& a, const JobRegion& b) {
    return std::tie(a.name, a.kind, a.on_stream) < std::tie(b.name, b.kind, b.on_stream);
  }
};

/// Time of each rank in each step that all ranks have, in ns, in total and per region. The caller excludes warm-up
/// steps. Ranks, regions and steps are indices. Value type; not thread-safe.
class StepTimes {
 public:
  StepTimes(std::vector<JobRank> ranks, std::vector<JobRegion> regions, std::size_t steps)
      : ranks_(std::move(ranks)),
        regions_(std::move(regions)),
        steps_(steps),
        ns_(layers(regions_.size()) * ranks_.size() * steps) {}

  /// Number of times that are kept per rank and step.
  static constexpr std::size_t layers(std::size_t regions) noexcept { return regions + 2; }

  const std::vector<JobRank>& ranks() const noexcept { return ranks_; }
  const std::vector<JobRegion>& regions() const noexcept { return regions_; }
  std::size_t steps() const noexcept { return steps_; }

  std::uint64_t& step_ns(std::size_t rank, std::size_t step) noexcept { return at(regions_.size(), rank, step); }
  std::uint64_t step_ns(std::size_t rank, std::size_t step) const noexcept { return at(regions_.size(), rank, step); }
  std::uint64_t& region_ns(std::size_t region, std::size_t rank, std::size_t step) noexcept {
    return at(region, rank, step);
  }
  std::uint64_t region_ns(std::size_t region, std::size_t rank, std::size_t step) const noexcept {
    return at(region, rank, step);
  }
  /// Time that streams were stalled waiting for other ranks; 0 if it is not known for every rank.
  std::uint64_t& exposed_ns(std::size_t rank, std::size_t step) noexcept { return at(regions_.size() + 1, rank, step); }
  std::uint64_t exposed_ns(std::size_t rank, std::size_t step) const noexcept {
    return at(regions_.size() + 1, rank, step);
  }
  /// Returns the step's time minus its waiting. Host and stream waits may overlap, so the longer one counts. 0 if the
  /// reported waiting exceeds the step.
  std::uint64_t busy_ns(std::size_t rank, std::size_t step) const noexcept {
    const std::uint64_t host = host_ns(rank, step, [](const JobRegion& region) { return region.waits(); });
    return less(step_ns(rank, step), std::max(host, exposed_ns(rank, step)));
  }
  std::vector<double> busy_by_step(std::size_t rank) const {
    std::vector<double> busy;
    for (std::size_t step = 0; step < steps_; ++step) { busy.push_back(static_cast<double>(busy_ns(rank, step))); }
    return busy;
  }
  /// Returns the step's time minus all its regions.
  std::uint64_t rest_ns(std::size_t rank, std::size_t step) const noexcept {
    return less(step_ns(rank, step), host_ns(rank, step, [](const JobRegion&) { return true; }));
  }
  /// Returns the total time of the slowest rank: the time of the job.
  double job_ns() const noexcept {
    std::uint64_t longest = 0;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      std::uint64_t sum = 0;
      for (std::size_t step = 0; step < steps_; ++step) { sum = bounded_sum(sum, step_ns(rank, step)); }
      if (sum > longest) { longest = sum; }
    }
    return static_cast<double>(longest);
  }

 private:
  static std::uint64_t less(std::uint64_t whole, std::uint64_t taken) noexcept {
    return taken < whole ? whole - taken : 0;
  }
  /// Sums host time over the selected regions.
  template <class Which>
  std::uint64_t host_ns(std::size_t rank, std::size_t step, Which which) const noexcept {
    std::uint64_t taken = 0;
    for (std::size_t region = 0; region < regions_.size(); ++region) {
      const JobRegion& each = regions_[region];
      if (!each.on_stream && which(each)) { taken = bounded_sum(taken, region_ns(region, rank, step)); }
    }
    return taken;
  }
  std::size_t place(std::size_t layer, std::size_t rank, std::size_t step) const noexcept {
    return (layer * ranks_.size() + rank) * steps_ + step;
  }
  std::uint64_t& at(std::size_t layer, std::size_t rank, std::size_t step) noexcept {
    return ns_[place(layer, rank, step)];
  }
  std::uint64_t at(std::size_t layer, std::size_t rank, std::size_t step) const noexcept {
    return ns_[place(layer, rank, step)];
  }

  std::vector<JobRank> ranks_;
  std::vector<JobRegion> regions_;
  std::size_t steps_ = 0;
  std::vector<std::uint64_t> ns_;  // by region, then the steps, then the stream waits
};

/// Steps of one rank, collected from its rows as they arrive. If there are many, about every second, fourth or eighth
/// (and so on) is kept, selected by number alone so that all ranks keep the same ones. Warm-up is excluded. Value type;
/// not thread-safe.
class RankSteps {
 public:
  /// Own times of regions in ns, by index into regions().
  using Regions = std::vector<std::pair<std::uint32_t, std::uint64_t>>;
  struct Step {
    static constexpr std::int64_t kUnknown = -1;

    std::uint64_t ns = 0;
    /// Time that streams were stalled waiting for other ranks: their Kind::wait regions, except waits for data, which
    /// are the rank's own. kUnknown if work on streams has no such region or values are missing.
    std::int64_t exposed_ns = 0;
    Regions regions;

    /// Number of values that count against the limit: the step and its regions.
    std::size_t values() const noexcept { return 1 + regions.size(); }
  };
  /// Outermost Batches at one path on one thread.
  struct Batches {
    std::string path;
    std::uint64_t rows = 0;
    std::map<std::int64_t, Step> steps;  ///< by number; the first of equal ones
  };
  /// Maximum stride. A rank with a single step above the limit keeps none and reports this stride.
  static constexpr std::uint64_t kMaxStride = std::uint64_t{1} << 62U;

  /// Keeps at most max_values values over all series.
  explicit RankSteps(std::size_t max_values = 1) : max_values_(max_values) {}

  /// Adds the rows of a snapshot of the rank.
  void add(const Snapshot& snapshot) { add(snapshot, snapshot.rows); }
  /// Adds rows that belong to the snapshot.
  void add(const Snapshot& snapshot, const std::vector<Row>& rows);

  /// Returns the series with the most rows; nullptr if there are no rows.
  const Batches* main_batches() const noexcept;
  /// Returns the series with the most rows at that path; nullptr if there are no rows.
  const Batches* batches_at(const std::string& path) const noexcept;
  /// A power of two: about one in `stride` steps is kept.
  std::uint64_t stride() const noexcept { return stride_; }
  std::size_t values() const noexcept { return values_; }
  const std::vector<JobRegion>& regions() const noexcept { return regions_; }
  const std::vector<Batches>& series() const noexcept { return series_; }

 private:
  friend class RankStepsBytes;                                                            // serialises and reads it
  using Named = std::map<std::tuple<std::uint32_t, std::uint32_t, bool>, std::uint32_t>;  // by path, Batch, on_stream

  std::uint32_t region_of(const Snapshot& snapshot, std::uint32_t path, std::uint32_t batch, bool on_stream);
  Step step_of(const Snapshot& snapshot, const Row& row, std::uint32_t batch, Named& named);
  void thin();

  std::size_t max_values_;
  std::size_t values_ = 0;
  std::uint64_t stride_ = 1;
  std::vector<Batches> series_;
  std::vector<JobRegion> regions_;
  std::map<JobRegion, std::uint32_t> places_;  // region indices
};

/// Serialises the steps. Equal steps give equal bytes. Any thread.
std::string pack(const RankSteps& steps);
/// Reads bytes of pack() for comparison. Throws takt::Error with the reason if they are invalid.
RankSteps unpack_steps(std::string_view bytes);

/// Maximum of ranks x steps x (regions + 2) in a comparison.
inline constexpr std::size_t kMaxComparedValues = std::size_t{1} << 25U;

/// Returns the maximum number of values per rank: 2^23 divided by the ranks, at least 2^10 while the total is within
/// kMaxComparedValues, at most 2^16.
std::size_t values_of_a_rank(std::size_t ranks) noexcept;

/// Returns true if the step is among the about one in `stride` that are kept. REQUIRES: a power of two.
bool is_kept_step(std::int64_t number, std::uint64_t stride) noexcept;

/// Identity and steps of a rank to compare.
struct RankOfJob {
  JobRank who;
  const RankSteps* steps;
};

/// Input of a rank comparison.
struct ComparedSteps {
  StepTimes times;
  std::uint64_t every = 1;            ///< about one step in `every` is used
  std::size_t left_out = 0;           ///< number of excluded ranks
  std::size_t unexposed = 0;          ///< steps in which a rank lacks stream waits: no stream waits count there
  std::vector<std::int64_t> numbers;  ///< of its steps, ascending
};

/// Returns the steps that these ranks have in common, at the path where the most ranks have their main series. Ranks
/// without rows there are excluded. If there are more than `max_values` values, only every second, fourth or eighth
/// (and so on) is used. 0 steps if none are in common.
ComparedSteps step_times_of(const std::vector<RankOfJob>& ranks, std::size_t max_values = kMaxComparedValues);

}  // namespace detail
TAKT_END_NAMESPACE
