// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/row.hpp>
#include <takt/sample.hpp>

#include "sample/energy_points.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Shares the energy of meters out to steps and regions, by when they were. What a step or a region took is told once
/// samples cover its end; so long it waits here, in bounded memory. A value; one thread at a time.
class EnergyBooks {
 public:
  static constexpr std::size_t kLeastSamples = 5;  ///< in what energy is told of
  static constexpr std::size_t kMostWaiting = 4096;
  static constexpr std::size_t kMostPlaces = 1024;  ///< a series, or a region, and a meter; of others nothing is told

  using Meters = std::vector<const EnergyPoints*>;

  /// \param interval_ns between two samples.
  explicit EnergyBooks(std::int64_t interval_ns) noexcept : interval_ns_(interval_ns) {}

  /// A step, of which the period counts where it counts for throughput. \param and_batch its Batch is a region, too.
  void add_step(const Row& row, bool and_batch);
  /// One call of a region; one that is too short is passed over.
  void add_region(std::string_view name, std::int64_t begin_ns, std::int64_t end_ns);
  /// Shares out what samples cover by now. \param meters the energy of each meter, by its index; nullptr: it tells
  /// none. \param end nothing more will come.
  void settle(const Meters& meters, bool end);

  /// Appends what has been found out. \param batch_of the name of a series' Batch.
  void tell(std::vector<StepEnergy>& steps, std::vector<RegionEnergy>& regions,
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
  std::int64_t covered(const Meters& meters) const;
  void share_out(const Piece& piece, const Meters& meters);
  void add_steps(const Piece& piece, std::uint32_t meter, const EnergyPoints& energy);
  void add_call(const Piece& piece, std::uint32_t meter, const EnergyPoints& energy);
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
