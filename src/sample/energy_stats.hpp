// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>
#include <takt/sample.hpp>
#include <takt/snapshot.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// The energy that was used between two times.
struct WindowEnergy {
  double joules = 0;
  double error_joules = 0;  ///< at most: what was used between the values around both ends
  std::size_t values = 0;   ///< that lie in between
};

/// How much energy had been used at which time: values that grow, of which the newest kMax are kept. Between two
/// values it is taken to be used evenly. A value that does not grow tells nothing: the counters of devices move on ten
/// times a second, or less often, and are read more often. A value; one thread at a time.
class EnergyPoints {
 public:
  static constexpr std::size_t kMax = 4096;
  /// Without a new value for so many times the usual, none was used.
  static constexpr std::int64_t kFlat = 10;
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();

  struct Edge {
    double joules = 0;
    double error_joules = 0;
  };

  /// Times ascend, and `joules` does not fall.
  void add(std::int64_t time_ns, double joules);
  /// Nothing more will come.
  void end() noexcept { ended_ = true; }

  /// What had been used at `time_ns`. False where that is not known: before the oldest value that is kept, or behind
  /// the newest.
  bool at(std::int64_t time_ns, Edge& edge) const;
  /// False where one of the two is not known.
  bool between(std::int64_t begin_ns, std::int64_t end_ns, WindowEnergy& energy) const;

  /// How many values lie behind `begin_ns`, up to `end_ns`.
  std::size_t values_between(std::int64_t begin_ns, std::int64_t end_ns) const;

  /// Up to which time it is known; kNever: there is no value.
  std::int64_t known_ns() const noexcept;
  /// How far apart its values are; 0: there are none.
  std::int64_t step_ns() const noexcept;
  /// From the first value of all to the newest.
  double joules() const noexcept { return points_.empty() ? 0 : points_.back().joules - first_joules_; }

 private:
  struct Point {
    std::int64_t time_ns;
    double joules;
  };
  using Place = std::deque<Point>::const_iterator;
  Place behind(std::int64_t time_ns) const;

  std::deque<Point> points_;
  std::uint64_t added_ = 0;    // values that grew
  std::int64_t first_ns_ = 0;  // of the first of all
  double first_joules_ = 0;    // likewise
  std::int64_t covered_ns_ = kNever;
  bool ended_ = false;
};

/// What a counter has counted since its first reading, whatever it began with. A value; one thread at a time.
class CounterSum {
 public:
  /// \param range behind which it begins again at 0; 0: it only does so when somebody resets it.
  explicit CounterSum(std::uint64_t range = 0) noexcept : range_(range) {}

  /// Takes the next reading; it must have gone round once at most. What was counted before a reset is lost: nothing is
  /// added then. Returns the sum.
  std::uint64_t add(std::uint64_t reading) noexcept {
    if (has_last_) {
      if (reading >= last_) {
        sum_ += reading - last_;
      } else if (last_ <= range_) {
        sum_ += range_ - last_ + reading;
      }
    }
    has_last_ = true;
    last_ = reading;
    return sum_;
  }

 private:
  std::uint64_t range_;
  std::uint64_t last_ = 0;
  std::uint64_t sum_ = 0;
  bool has_last_ = false;
};

/// Shares the energy of meters out to steps and regions, by when they were. What a step or a region took is told once
/// samples cover its end; so long it waits here, in bounded memory. A value; one thread at a time.
class EnergyStats {
 public:
  static constexpr std::size_t kMinSamples = 5;  ///< in what energy is told of
  static constexpr std::size_t kMaxWaiting = 4096;
  static constexpr std::size_t kMaxPlaces = 1024;  ///< a series, or a region, and a meter; of others nothing is told

  using Sensors = std::vector<const EnergyPoints*>;

  /// \param interval_ns between two samples.
  explicit EnergyStats(std::int64_t interval_ns) noexcept : interval_ns_(interval_ns) {}

  /// A step, of which the period counts where it counts for throughput. \param and_batch its Batch is a region, too.
  void add_step(const Row& row, bool and_batch);
  /// One call of a region; one that is too short is passed over.
  void add_region(std::string_view name, std::int64_t begin_ns, std::int64_t end_ns);
  /// Shares out what samples cover by now. \param meters the energy of each meter, by its index; nullptr: it tells
  /// none. \param end nothing more will come.
  void settle(const Sensors& sensors, bool end);

  /// Appends what has been found out. \param batch_of the name of a series' Batch.
  void report(std::vector<StepEnergy>& steps, std::vector<RegionEnergy>& regions,
              const std::function<std::string(std::uint32_t series)>& batch_of) const;
  /// Steps and regions that had to go before samples covered them.
  std::uint64_t dropped() const noexcept { return dropped_; }

 private:
  static constexpr std::uint32_t kNoSeries = 0xFFFFFFFF;

  /// Something that waits: neighbouring steps of a series, or a call of a region, which may be the Batch of a series.
  struct Piece {
    std::uint32_t series = kNoSeries;
    std::string name;
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    std::uint64_t steps = 0;  // 0: it is a call
    std::uint64_t items = 0;
  };
  /// Steps without a break, up to where they are shared out.
  struct Stretch {
    EnergyPoints::Edge begin;
    EnergyPoints::Edge end;
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    std::uint64_t steps = 0;
    std::uint64_t items = 0;
    std::size_t values = 0;
  };
  struct Series {
    StepEnergy closed;  // of the stretches that have ended
    Stretch stretch;
  };
  using Place = std::pair<std::uint32_t, std::uint32_t>;                 // series, meter
  using Called = std::tuple<std::string, std::uint32_t, std::uint32_t>;  // name or series, and meter

  bool is_long(std::int64_t begin_ns, std::int64_t end_ns) const noexcept;
  bool join(const Piece& piece);
  void wait(Piece piece);
  std::int64_t covered(const Sensors& sensors) const;
  void share_out(const Piece& piece, const Sensors& sensors);
  void add_steps(const Piece& piece, std::uint32_t sensor, const EnergyPoints& energy);
  void add_call(const Piece& piece, std::uint32_t sensor, const EnergyPoints& energy);
  static void close(Series& series);
  static void add_to(StepEnergy& sum, const Stretch& stretch);

  std::int64_t interval_ns_;
  std::deque<Piece> waiting_;
  std::map<Place, Series> series_;
  std::map<Called, RegionEnergy> calls_;
  std::uint64_t dropped_ = 0;
};

}  // namespace detail
TAKT_END_NAMESPACE
