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

/// The steps of a run are cut into so many windows, one behind the other.
inline constexpr std::size_t kStepWindows = 10;
/// From so many steps on ranks are compared: below, a window has no median worth the name.
inline constexpr std::size_t kMinComparedSteps = 3 * kStepWindows;

/// The steps [first, last).
struct StepWindow {
  std::size_t first = 0;
  std::size_t last = 0;

  std::size_t steps() const noexcept { return last - first; }
};
/// Window `window`, from 0, of so many steps. Any thread.
constexpr StepWindow step_window(std::size_t window, std::size_t steps) noexcept {
  return {window * steps / kStepWindows, (window + 1) * steps / kStepWindows};
}

/// Of values by step, the median of each window. REQUIRES: kMinComparedSteps values. Any thread.
std::vector<double> window_medians(const std::vector<double>& by_step);
/// The distance of each value from the median of its window, widened by what the median of few values is too near to
/// them. What lasts for a window is in none of them. REQUIRES: kMinComparedSteps values. Any thread.
std::vector<double> window_distances(const std::vector<double>& by_step);

/// A rank among those that are compared.
struct JobRank {
  std::uint32_t number = 0;
  std::string host;
  std::string group;  ///< "stage 2": it is compared with the ranks of the same group; empty: there are no groups
  int stage = kNoStage;
  unsigned micro_batches = 0;  ///< as the rank tells; 0: it does not

  static constexpr int kNoStage = -1;
};

/// A region within a step. Its times are its own: what regions inside it took is left out. Where a region has work on
/// streams, what the host took and what they took are two.
struct JobRegion {
  std::string name;
  Kind kind = Kind::other;
  bool on_stream = false;  ///< its stream spans, beside which the host does something else

  /// Whether a rank may spend its time there because others are late.
  bool waits() const noexcept { return kind == Kind::comm || kind == Kind::wait; }
  /// For people.
  std::string label() const { return on_stream ? name + " (on streams)" : name; }

  friend bool operator<(const JobRegion& a, const JobRegion& b) {
    return std::tie(a.name, a.kind, a.on_stream) < std::tie(b.name, b.kind, b.on_stream);
  }
};

/// What each rank spent in each step that all of them have, in ns: the step itself, and its regions. Warm-up steps are
/// left out by who fills it in. Ranks, regions and steps are named by their places. A value; one thread at a time.
class StepTimes {
 public:
  StepTimes(std::vector<JobRank> ranks, std::vector<JobRegion> regions, std::size_t steps)
      : ranks_(std::move(ranks)),
        regions_(std::move(regions)),
        steps_(steps),
        ns_(layers(regions_.size()) * ranks_.size() * steps) {}

  /// How many times are kept of a rank's step.
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
  /// For how long streams stood still until others had come; 0 where that is not known of each rank.
  std::uint64_t& exposed_ns(std::size_t rank, std::size_t step) noexcept { return at(regions_.size() + 1, rank, step); }
  std::uint64_t exposed_ns(std::size_t rank, std::size_t step) const noexcept {
    return at(regions_.size() + 1, rank, step);
  }
  /// The step less its waiting: that of the host or that of streams, whichever is longer, as a host may wait while a
  /// stream does. 0 where they say that they waited longer than the step took.
  std::uint64_t busy_ns(std::size_t rank, std::size_t step) const noexcept {
    const std::uint64_t host = host_ns(rank, step, [](const JobRegion& region) { return region.waits(); });
    return less(step_ns(rank, step), std::max(host, exposed_ns(rank, step)));
  }
  std::vector<double> busy_by_step(std::size_t rank) const {
    std::vector<double> busy;
    for (std::size_t step = 0; step < steps_; ++step) { busy.push_back(static_cast<double>(busy_ns(rank, step))); }
    return busy;
  }
  /// The step less all its regions.
  std::uint64_t rest_ns(std::size_t rank, std::size_t step) const noexcept {
    return less(step_ns(rank, step), host_ns(rank, step, [](const JobRegion&) { return true; }));
  }
  /// How long the steps took on the rank that took longest: the time of the job.
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
  /// What the host took in regions.
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
  std::vector<std::uint64_t> ns_;  // by region, then the steps themselves, then what streams waited
};

/// The steps of one rank, taken from its rows as they come by. Of many about every second, fourth, eighth and so on
/// stays, chosen by its number alone, so that all ranks keep the same ones. Warm-up is left out. A value; one thread at
/// a time.
class RankSteps {
 public:
  /// What regions took themselves, in ns, by their place in regions().
  using Regions = std::vector<std::pair<std::uint32_t, std::uint64_t>>;
  struct Step {
    static constexpr std::int64_t kUnknown = -1;

    std::uint64_t ns = 0;
    /// For how long streams stood still until others had come: what regions of Kind::wait say on them, but for waits
    /// for data, which are the rank's own. kUnknown: there is work on streams, and none of them says so, or values are
    /// missing.
    std::int64_t exposed_ns = 0;
    Regions regions;

    /// What it counts against the bound: itself and each of its regions.
    std::size_t values() const noexcept { return 1 + regions.size(); }
  };
  /// The outermost Batches at one place on one thread.
  struct Batches {
    std::string path;
    std::uint64_t rows = 0;
    std::map<std::int64_t, Step> steps;  ///< by number; of equal ones the first
  };
  /// No stride is larger. A rank of which a single step is beyond the bound keeps none, and says this stride.
  static constexpr std::uint64_t kMaxStride = std::uint64_t{1} << 62U;

  /// Keeps at most so many values of all its series together.
  explicit RankSteps(std::size_t max_values = 1) : max_values_(max_values) {}

  /// Takes the rows of a snapshot of the rank.
  void add(const Snapshot& snapshot) { add(snapshot, snapshot.rows); }
  /// Takes rows that belong to the snapshot.
  void add(const Snapshot& snapshot, const std::vector<Row>& rows);

  /// The series with most rows; nullptr: there are no rows.
  const Batches* main_batches() const noexcept;
  /// Of the series at that place the one with most rows; nullptr: there are no rows.
  const Batches* batches_at(const std::string& path) const noexcept;
  /// A power of two: about one step in so many is kept.
  std::uint64_t stride() const noexcept { return stride_; }
  std::size_t values() const noexcept { return values_; }
  const std::vector<JobRegion>& regions() const noexcept { return regions_; }
  const std::vector<Batches>& series() const noexcept { return series_; }

 private:
  friend class RankStepsBytes;                                                            // spells and reads all of it
  using Named = std::map<std::tuple<std::uint32_t, std::uint32_t, bool>, std::uint32_t>;  // by path, Batch, on_stream

  std::uint32_t region_of(const Snapshot& snapshot, std::uint32_t path, std::uint32_t batch, bool on_stream);
  Step step_of(const Snapshot& snapshot, const Row& row, std::uint32_t batch, Named& named);
  void thin();

  std::size_t max_values_;
  std::size_t values_ = 0;
  std::uint64_t stride_ = 1;
  std::vector<Batches> series_;
  std::vector<JobRegion> regions_;
  std::map<JobRegion, std::uint32_t> places_;  // of regions
};

/// The steps as bytes. Equal steps give equal bytes. Any thread.
std::string pack(const RankSteps& steps);
/// What pack() has made, for comparing. Bytes may be anything: throws Error, which says what is wrong with them.
RankSteps unpack_steps(std::string_view bytes);

/// Ranks x steps x (regions + 2) of a comparison are at most so many.
inline constexpr std::size_t kMaxComparedValues = std::size_t{1} << 25U;

/// How many values each of so many ranks may keep: 2^23 of all together, but 2^10 of each as long as that is not beyond
/// kMaxComparedValues of all, and 2^16 at most.
std::size_t values_of_a_rank(std::size_t ranks) noexcept;

/// Whether a step of that number is among those of which about one in `stride` is kept. REQUIRES: a power of two.
bool is_kept_step(std::int64_t number, std::uint64_t stride) noexcept;

/// Who a rank is among those that are compared, and its steps.
struct RankOfJob {
  JobRank who;
  const RankSteps* steps;
};

/// What the comparison of ranks rests on.
struct ComparedSteps {
  StepTimes times;
  std::uint64_t every = 1;    ///< about one step in so many is in it
  std::size_t left_out = 0;   ///< ranks that are not
  std::size_t unexposed = 0;  ///< steps in which some rank does not say for how long its streams waited: none counts
  std::vector<std::int64_t> numbers;  ///< of its steps, ascending
};

/// The steps that all these ranks have at the place where most ranks have most steps. Ranks without rows there are left
/// out. Of steps that make more than `max_values`, every second, fourth and so on is taken. None in common: 0 steps.
ComparedSteps step_times_of(const std::vector<RankOfJob>& ranks, std::size_t max_values = kMaxComparedValues);

}  // namespace detail
TAKT_END_NAMESPACE
