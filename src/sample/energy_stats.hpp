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

/// Energy used between two times.
struct WindowEnergy {
  double joules = 0;
  double error_joules = 0;  ///< maximum error: energy used between the values around each end
  std::size_t values = 0;   ///< number of values in the window
};

/// Total energy used over time: increasing values, of which the newest kMax are kept. Use between two values is taken
/// as even. Repeated values are ignored: device counters update ten times a second or less, and are read more often. A
/// value type. Not thread-safe.
class EnergyPoints {
 public:
  static constexpr std::size_t kMax = 4096;
  /// After this many usual intervals without a new value, use is taken as zero.
  static constexpr std::int64_t kFlat = 10;
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();

  struct Edge {
    double joules = 0;
    double error_joules = 0;
  };

  /// Adds a value. Times must increase, and `joules` must not decrease.
  void add(std::int64_t time_ns, double joules);
  /// Declares that no values follow.
  void end() noexcept { ended_ = true; }

  /// Returns the energy used by `time_ns`. Returns false if unknown: before the oldest kept value or after the newest.
  bool at(std::int64_t time_ns, Edge& edge) const;
  /// Computes the energy in a window. Returns false if either end is unknown.
  bool between(std::int64_t begin_ns, std::int64_t end_ns, WindowEnergy& energy) const;

  /// Returns the number of values after `begin_ns`, up to `end_ns`.
  std::size_t values_between(std::int64_t begin_ns, std::int64_t end_ns) const;

  /// Returns the time up to which the energy is known; kNever without values.
  std::int64_t known_ns() const noexcept;
  /// Returns the mean interval between values, in ns; 0 with fewer than two.
  std::int64_t step_ns() const noexcept;
  /// Returns the energy from the first value ever to the newest, in J.
  double joules() const noexcept { return points_.empty() ? 0 : points_.back().joules - first_joules_; }

 private:
  struct Point {
    std::int64_t time_ns;
    double joules;
  };
  using Place = std::deque<Point>::const_iterator;
  Place behind(std::int64_t time_ns) const;

  std::deque<Point> points_;
  std::uint64_t added_ = 0;    // number of increasing values
  std::int64_t first_ns_ = 0;  // time of the first value ever
  double first_joules_ = 0;    // its energy
  std::int64_t covered_ns_ = kNever;
  bool ended_ = false;
};

/// Sum of a counter since its first reading, whatever that was. A value type. Not thread-safe.
class CounterSum {
 public:
  /// \param range maximum value, after which the counter wraps to 0; 0: it only drops to 0 when reset.
  explicit CounterSum(std::uint64_t range = 0) noexcept : range_(range) {}

  /// Adds the next reading, which may have wrapped once at most. After a reset, adds nothing: the count before it is
  /// unknown. Returns the sum.
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

/// Attributes the energy of sensors to steps and regions by their times. Each waits here, in bounded memory, until
/// samples cover its end. A value type. Not thread-safe.
class EnergyStats {
 public:
  static constexpr std::size_t kMinSamples = 5;  ///< minimum samples for a reported energy
  static constexpr std::size_t kMaxWaiting = 4096;
  static constexpr std::size_t kMaxPlaces =
      1024;  ///< pairs of series or region and sensor; further ones are not reported

  using Sensors = std::vector<const EnergyPoints*>;

  /// \param interval_ns sampling interval.
  explicit EnergyStats(std::int64_t interval_ns) noexcept : interval_ns_(interval_ns) {}

  /// Adds a step; its period counts if it counts for throughput.
  /// \param and_batch true: its Batch also counts as a region.
  void add_step(const Row& row, bool and_batch);
  /// Adds one call of a region; ignores calls that are too short.
  void add_region(std::string_view name, std::int64_t begin_ns, std::int64_t end_ns);
  /// Attributes the energy covered by samples so far.
  /// \param sensors energy of each sensor, by index; nullptr: it reports none.
  /// \param end true: no samples follow.
  void settle(const Sensors& sensors, bool end);

  /// Appends the results.
  /// \param batch_of returns the name of a series' Batch.
  void report(std::vector<StepEnergy>& steps, std::vector<RegionEnergy>& regions,
              const std::function<std::string(std::uint32_t series)>& batch_of) const;
  /// Returns the number of steps and regions dropped before samples covered them.
  std::uint64_t dropped() const noexcept { return dropped_; }

 private:
  static constexpr std::uint32_t kNoSeries = 0xFFFFFFFF;

  /// A waiting piece: consecutive steps of a series, or a call of a region, which may be the Batch of a series.
  struct Piece {
    std::uint32_t series = kNoSeries;
    std::string name;
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    std::uint64_t steps = 0;  // 0: a call
    std::uint64_t items = 0;
  };
  /// Contiguous steps whose energy is known.
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
    StepEnergy closed;  // total of closed stretches
    Stretch stretch;
  };
  using Place = std::pair<std::uint32_t, std::uint32_t>;                 // series, sensor
  using Called = std::tuple<std::string, std::uint32_t, std::uint32_t>;  // name or series, and sensor

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
