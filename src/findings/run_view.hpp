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

/// Consecutive steps of a run, taken together. Times in ns.
struct RunWindow {
  std::size_t first_block = 0;
  double steps = 0;
  double period_ns = 0;         ///< of these, from the end of the Batch before where that is known
  double usual_steps = 0;       ///< as StepBlock
  double usual_ns = 0;          ///< likewise
  std::vector<double> columns;  ///< by place in SeriesHistory::columns()

  /// Of a step, without what is slow.
  double level() const noexcept { return usual_ns / usual_steps; }
  double column(std::size_t place) const noexcept { return place < columns.size() ? columns[place] : 0; }
};

/// A run as the rules look at it: with the steps of the series that took most time.
struct RunView {
  /// A step at the beginning that takes so many times what is usual belongs to warm-up.
  static constexpr double kLonger = 1.25;

  const Snapshot& run;
  const Series* series = nullptr;        ///< nullptr: there are no steps
  const SeriesHistory* steps = nullptr;  ///< likewise
  bool on_streams = false;               ///< work was put on streams of devices
  std::uint64_t transient = 0;           ///< steps at the beginning that count as warm-up, or are longer than others
  double usual_steps = 0;                ///< after these
  double usual_ns = 0;                   ///< of one of them
  double period_ns = 0;                  ///< of all steps after the beginning
  /// Equally many steps each, after the beginning. What is left at the end is in none.
  std::vector<RunWindow> windows;

  /// The snapshot has to outlive the view.
  explicit RunView(const Snapshot& snapshot);

  double usual_steps_in_windows() const noexcept {
    double sum = 0;
    for (const RunWindow& each : windows) { sum += each.usual_steps; }
    return sum;
  }
  /// Whether trials ran, or functions were measured, in time that no region of the run has.
  bool has_time_of_others() const noexcept { return run.trials != nullptr || !run.measurements.empty(); }
  /// Too short for what is said of the process and of Takt.
  bool is_short() const noexcept;
  /// Up to the last step at least: of a truncated journal, the time that it tells may be from before that.
  double wall_ns() const noexcept;
  double share_of_run(double ns) const noexcept { return wall_ns() > 0 ? ns / wall_ns() : 0; }
  /// Of the path of the Batch; kNoIndex: it is at the top, or there are no steps.
  std::uint32_t above_batch() const noexcept;
  /// What the regions on the thread of the Session cover is less than the Batches take: they run on another one.
  bool steps_run_elsewhere() const noexcept;
  /// Whether that path is the Batch, or lies inside it.
  bool is_in_batch(std::uint32_t path) const noexcept;
  /// Whether the region, in or beside the Batch, runs about once a step, or more often.
  bool runs_each_step(std::uint32_t path) const noexcept;
  /// The region that takes most of what lies between two Batches; HistoryColumn::kBetween: none does, or several
  /// threads record, so that nobody knows on which of them it ran.
  std::uint32_t region_between() const;
  /// The regions right beside the Batch in the tree.
  std::vector<std::uint32_t> beside_batch() const;

  /// "IO", or "Epoch/IO" where that key stands in several places; of a HistoryColumn too. Printable.
  std::string label(std::uint32_t path) const;
  /// As Snapshot::path_name(); empty for what is no path.
  std::string name(std::uint32_t path) const;

 private:
  void find_transient();
  void add_windows();
};

/// How values of windows, one behind the other, scatter about what is expected of them, where each is like the one
/// before: as in an autoregression of the first order. Where there is other noise, too, neighbours are less alike than
/// the values deviate in the long run: so means of two count as well, and what is wider of both.
struct LongRun {
  double deviation = 0;    ///< the mean of n values deviates by this over the root of n
  double correlation = 0;  ///< of neighbours, 0 to 0.95
  double independent = 0;  ///< so many values without a correlation would tell as much
};

/// \param residuals what is left of the values. \param fitted how many numbers were fitted to these: residuals scatter
/// less than the values do, and are less alike (Kendall 1954). REQUIRES: more residuals than that. Any thread.
LongRun long_run_of(const std::vector<double>& residuals, double fitted);

/// A sum by a sum, with a 95 % interval.
struct RatioOfSums {
  bool known = false;  ///< there are enough windows
  double ratio = 0;
  double half = 0;  ///< the interval is ratio -/+ half
};

/// Of windows, one behind the other: by the linearised ratio, as the interval of a throughput. Any thread.
RatioOfSums ratio_of_sums(const std::vector<double>& parts, const std::vector<double>& wholes);

}  // namespace detail
TAKT_END_NAMESPACE
