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

/// What several ranks have sampled. A device, the processors and the machine are there once, however many ranks have
/// sampled them: by the rank that did so for longest. A value; one thread at a time.
class MergedSensors {
 public:
  /// \param label of the rank, such as "rank 3".
  /// \param first_series index of its first series in the sum.
  void add(const Snapshot& rank, const std::string& label, std::uint32_t first_series);
  void move_into(Snapshot& sum);

 private:
  struct Owned {
    Sensor sensor;
    std::size_t rank = 0;  // whose figures these are
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

/// The totals of several ranks of one run, path by path. Its rank is -1 and its world size how many were added up. Wall
/// time and the time that no region covers are those of the rank that has most of it; threads, series, time lines and
/// losses are named by rank. Paths, and what there is once, are in the order of the ranks that were added. One thread
/// at a time.
class RankSum {
 public:
  void add(const Snapshot& rank);
  /// The sum; of one rank that one as it is. Nothing is left here.
  Snapshot take();

 private:
  void merge(const Snapshot& rank);
  void add_run(const Snapshot& rank);
  void add_process(const ProcessTimes& process);
  void add_device(const DeviceInfo& device, const std::string& label);
  std::uint32_t add_path(const PathStats& path, const std::vector<std::uint32_t>& paths);

  Snapshot sum_;
  MergedSensors sensors_;
  int merged_ = 0;
  std::optional<Snapshot> only_;  // until there is a second one
  std::set<std::tuple<std::string, std::string, std::string>> devices_;
  std::map<std::tuple<std::uint32_t, std::string, Kind>, std::uint32_t> places_;
};

/// Some ranks of one run, and what they add up to.
struct RunReport {
  std::vector<Rank> ranks;                  ///< in order; of each, its last attempt
  std::vector<AttemptSpan> attempts;        ///< of the run, in order; the last one is reported
  std::vector<std::uint32_t> missing;       ///< ranks of which there is no journal
  std::vector<std::string> warnings;        ///< who is left out and why
  detail::JobReport job;                    ///< of one rank its sum alone
  std::optional<detail::JobTrials> trials;  ///< of those ranks that ran some
};

/// Adds the ranks of a run up as they come. Of several the steps that they kept are compared. One thread at a time.
class ReportBuilder {
 public:
  /// \param keeps_figures else the figures of each rank are in the sum alone.
  explicit ReportBuilder(bool keeps_figures) : keeps_figures_(keeps_figures) {}

  /// The next rank that counts, in order.
  void add(Rank&& rank);
  /// REQUIRES: one rank or more. Nothing is left here.
  RunReport finish(ReadRun run);

 private:
  bool keeps_figures_;
  RankSum sum_;
  RunReport report_;
};

/// Adds what the page draws of several ranks: how busy they are, and when.
void add_heat(RunReport& run);

/// How each rank stands, as far as that is worth a line. Those come first that need a look.
std::vector<std::string> endings_of(const RunReport& run);

/// Returns the table, then the state of ranks, their trials and measurements.
std::string report_text(const RunReport& run, const TableForm& form);

}  // namespace cli
TAKT_END_NAMESPACE
