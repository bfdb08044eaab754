// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include "ranks/step_times.hpp"

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
  static constexpr std::uint64_t kMostStride = std::uint64_t{1} << 62U;

  /// Keeps at most so many values of all its series together.
  explicit RankSteps(std::size_t most_values = 1) : most_values_(most_values) {}

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

  std::size_t most_values_;
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
inline constexpr std::size_t kMostComparedValues = std::size_t{1} << 25U;

/// How many values each of so many ranks may keep: 2^23 of all together, but 2^10 of each as long as that is not beyond
/// kMostComparedValues of all, and 2^16 at most.
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
/// out. Of steps that make more than `most_values`, every second, fourth and so on is taken. None in common: 0 steps.
ComparedSteps step_times_of(const std::vector<RankOfJob>& ranks, std::size_t most_values = kMostComparedValues);

}  // namespace detail
TAKT_END_NAMESPACE
