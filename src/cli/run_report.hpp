// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "cli/rank.hpp"
#include "cli/run_reader.hpp"
#include "measure/job_trials.hpp"
#include "report/job_report.hpp"

#include <takt/exporters/console.hpp>
#include <takt/snapshot.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// Sensors of several ranks. Devices, processors and the machine are included once, from the rank that sampled them for
/// the longest time. A value; one thread at a time.
class MergedSensors {
 public:
  /// \param label of the rank, such as "rank 3".
  /// \param first_series index of its first series in the sum.
  void add(const Snapshot& rank, const std::string& label, std::uint32_t first_series);
  void move_into(Snapshot& sum);

 private:
  struct Owned {
    Sensor sensor;
    std::size_t rank = 0;  // source of the figures
  };
  template <class Energy>
  using OfRanks = std::vector<std::pair<std::size_t, Energy>>;

  std::uint32_t add_sensor(const Sensor& sensor, const Snapshot& rank, const std::string& label);

  std::size_t ranks_ = 0;
  std::vector<Owned> sensors_;
  std::map<std::pair<Sensor::Kind, std::string>, std::uint32_t> places_;
  OfRanks<StepEnergy> steps_;
  OfRanks<RegionEnergy> regions_;
  std::set<std::pair<std::string, std::string>> unsampled_;
};

/// Totals of several ranks of one run, path by path. Its rank is -1 and its world size the number of ranks added. Wall
/// time and uncovered time are the maximum over ranks; threads, series, time lines and losses are labelled with the
/// rank. Paths and shared items are in the order of the added ranks. One thread at a time.
class RankSum {
 public:
  void add(const Snapshot& rank);
  /// Returns the sum, or the snapshot of a single rank unchanged, and resets this object.
  Snapshot take();

 private:
  void merge(const Snapshot& rank);
  void add_run(const Snapshot& rank);
  void add_process(const ProcessTimes& process);
  void add_memory(const RegionMemory& region);
  void add_device(const DeviceInfo& device, const std::string& label);
  std::uint32_t add_path(const PathStats& path, const std::vector<std::uint32_t>& paths);

  Snapshot sum_;
  MergedSensors sensors_;
  int merged_ = 0;
  std::optional<Snapshot> only_;  // first rank, until a second one is added
  std::set<std::tuple<std::string, std::string, std::string>> devices_;
  std::map<std::tuple<std::uint32_t, std::string, Kind>, std::uint32_t> places_;
};

/// Some ranks of one run, and their sum.
struct RunReport {
  std::vector<Rank> ranks;                  ///< in order; the last attempt of each
  std::vector<AttemptSpan> attempts;        ///< attempts of the run, in order; the last one is reported
  std::vector<std::uint32_t> missing;       ///< ranks without a journal
  std::vector<std::string> warnings;        ///< excluded ranks and the reasons
  detail::JobReport job;                    ///< for a single rank only its sum
  std::optional<detail::JobTrials> trials;  ///< results of ranks with trials
};

/// Adds up the ranks of a run as they arrive. The kept steps of several ranks are compared. One thread at a time.
class ReportBuilder {
 public:
  /// \param keeps_figures keep each rank's figures; else they are only in the sum.
  explicit ReportBuilder(bool keeps_figures) : keeps_figures_(keeps_figures) {}

  /// Adds the next rank that counts, in order.
  void add(Rank&& rank);
  /// Returns the report and resets this object. REQUIRES: at least one rank.
  RunReport finish(ReadRun run);

 private:
  bool keeps_figures_;
  RankSum sum_;
  RunReport report_;
};

/// Adds the heat map that the page shows for several ranks: their activity over time.
void add_heat(RunReport& run);

/// Describes the noteworthy states of ranks; problems come first.
std::vector<std::string> endings_of(const RunReport& run);

/// Returns the table, then the state of ranks, their trials and measurements.
std::string report_text(const RunReport& run, const TableForm& form);

}  // namespace cli
TAKT_END_NAMESPACE
