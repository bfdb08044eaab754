// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "findings/step_history.hpp"

#include <takt/config.hpp>
#include <takt/snapshot.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Consecutive steps of a run, combined. Times in ns.
struct RunWindow {
  std::size_t first_block = 0;
  double steps = 0;
  double period_ns = 0;         ///< sum of periods; a period starts at the end of the previous Batch if that is known
  double usual_steps = 0;       ///< as in StepBlock
  double usual_ns = 0;          ///< as in StepBlock
  std::vector<double> columns;  ///< indexed as SeriesHistory::columns()

  /// Returns the mean time of a step, without slow outliers.
  double level() const noexcept { return usual_ns / usual_steps; }
  double column(std::size_t place) const noexcept { return place < columns.size() ? columns[place] : 0; }
};

/// Data that the rules use: the run and the series that took the most time.
struct RunView {
  /// A step at the start that takes this many times the usual time belongs to warm-up.
  static constexpr double kLonger = 1.25;

  const Snapshot& run;
  const Series* series = nullptr;        ///< nullptr if there are no steps
  const SeriesHistory* steps = nullptr;  ///< nullptr if there are no steps
  bool on_streams = false;               ///< the run used device streams
  std::uint64_t transient = 0;           ///< initial steps that are warm-up or slower than usual
  double usual_steps = 0;                ///< number of usual steps after the transient
  double usual_ns = 0;                   ///< mean time of one of them
  double period_ns = 0;                  ///< sum over all steps after the transient
  /// Windows of equally many steps after the transient. Left-over steps at the end are in no window.
  std::vector<RunWindow> windows;

  /// The snapshot must outlive the view.
  explicit RunView(const Snapshot& snapshot);

  double usual_steps_in_windows() const noexcept {
    double sum = 0;
    for (const RunWindow& each : windows) { sum += each.usual_steps; }
    return sum;
  }
  /// Returns true if trials or measurements took time that no region of the run has.
  bool has_time_of_others() const noexcept { return run.trials != nullptr || !run.measurements.empty(); }
  /// Returns true if the run is too short for rules about the process and Takt.
  bool is_short() const noexcept;
  /// Returns the run's length, at least up to the last step: in a truncated journal the recorded length may be older.
  double wall_ns() const noexcept;
  double share_of_run(double ns) const noexcept { return wall_ns() > 0 ? ns / wall_ns() : 0; }
  /// Returns the parent of the Batch's path; kNoIndex if it is at the top or there are no steps.
  std::uint32_t above_batch() const noexcept;
  /// Returns true if the Session's thread has less region time than the Batches take, so they run on another thread.
  bool steps_run_elsewhere() const noexcept;
  /// Returns true if the path is the Batch or is inside it.
  bool is_in_batch(std::uint32_t path) const noexcept;
  /// Returns true if the region, inside or beside the Batch, runs about once per step or more often.
  bool runs_each_step(std::uint32_t path) const noexcept;
  /// Returns the region that takes most of the time between Batches. Returns HistoryColumn::kBetween if none does, or
  /// if several threads record and the region's thread is unknown.
  std::uint32_t region_between() const;
  /// Returns the Batch's siblings in the tree.
  std::vector<std::uint32_t> beside_batch() const;

  /// Returns "IO", or "Epoch/IO" if that key is in several places. Accepts HistoryColumn paths, too. Printable.
  std::string label(std::uint32_t path) const;
  /// As Snapshot::path_name(); empty for an invalid path.
  std::string name(std::uint32_t path) const;

 private:
  void find_transient();
  void add_windows();
};

/// Scatter of consecutive windows around their expected values, as a first-order autoregression. Other noise would hide
/// autocorrelation, so means of pairs are examined as well and the wider estimate counts.
struct LongRun {
  double deviation = 0;    ///< standard deviation of the mean of n values, times sqrt(n)
  double correlation = 0;  ///< of neighbours, 0 to 0.95
  double independent = 0;  ///< effective number of independent values
};

/// \param residuals of the fit. \param fitted number of fitted parameters: residuals scatter and correlate less than
/// the values do (Kendall 1954). REQUIRES: more residuals than fitted parameters. Any thread.
LongRun long_run_of(const std::vector<double>& residuals, double fitted);

/// Quotient of two sums with a 95 % interval.
struct RatioOfSums {
  bool known = false;  ///< there are enough windows
  double ratio = 0;
  double half = 0;  ///< the interval is ratio -/+ half
};

/// Computes the ratio over consecutive windows by linearisation, like the interval of a throughput. Any thread.
RatioOfSums ratio_of_sums(const std::vector<double>& parts, const std::vector<double>& wholes);

}  // namespace detail
TAKT_END_NAMESPACE
