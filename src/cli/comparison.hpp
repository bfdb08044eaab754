// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "cli/change.hpp"

#include <takt/snapshot.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What stands for the step among regions; no key of a program is called so by chance.
constexpr const char* kStepRegion = "(step)";

/// What a gate judges, and marks rest on.
enum class Statistic {
  p25,  ///< a quarter of the steps take no longer, whatever stalls and slow times the others have
  p50,
  mean,
  p95,
  throughput  ///< of the step alone, as the time an item; other regions have their mean
};
/// "p25", "p50", "mean", "p95", "throughput".
const char* statistic_word(Statistic statistic) noexcept;

/// The times of a region, or of the step, in one run, in ns; 0: not known.
struct RunRegion {
  bool of_steps = false;  ///< of a step with the region in it; false: of a call, as steps do not have all its calls
  RunFigure mean;
  RunFigure p25;
  RunFigure p50;
  RunFigure p95;
  RunFigure p99;
  RunFigure device_mean;
  double calls_a_step = 0;
  double times_a_step = 0;  ///< steps with the region, or its calls, for each step
  std::size_t paths = 1;    ///< that read the same and count together: they differ in kind, or in where a key has a "/"
};

/// A run as a comparison sees it.
struct ComparedRun {
  std::string name;      ///< for people
  std::string identity;  ///< the same of a copy
  std::int64_t start_unix_ns = 0;
  std::size_t ranks = 0;  ///< of which there is a journal
  std::size_t world_size = 0;
  std::string state;
  double waited = -1;     ///< for a processor: longest wait of a rank's thread, as a share of the run; -1: not known
  std::string step_path;  ///< of the Batch whose steps count; empty: there are none
  RunRegion step;         ///< of the step periods, of the slowest rank
  double items_per_s = 0;
  double items_a_step = 0;
  std::map<std::string, RunRegion> regions;     ///< by path
  std::map<std::string, std::string> facts;     ///< "parameter lr", "host" and the like, for people
  std::map<std::string, std::uint64_t> losses;  ///< by identifier
};

/// A figure of both sides.
struct ComparedFigure {
  std::string name;  ///< "p25", "p50", "mean", "p95", "p99", "device_mean", "time_an_item", "items_per_s"
  double base = 0;   ///< geometric mean over runs
  double now = 0;
  Change change;
};

enum class ChangeMark {
  unclear,  ///< the interval does not tell
  slower,   ///< beyond what chance does to one of so many regions
  faster
};

/// A region of both sides, or the step: what text, JSON and Markdown print.
struct ComparedRegion {
  std::string path;                     ///< kStepRegion, or as Snapshot::path_name() has it
  std::vector<ComparedFigure> figures;  ///< those that all runs have, the one that decides first
  double times_a_step = 0;              ///< mean of the new runs
  ChangeMark mark = ChangeMark::unclear;
  bool is_gate = false;
  GateAnswer gate;  ///< of a gate
};

struct ComparisonOptions {
  bool has_gate = false;
  double threshold = 0;              ///< of the gate, as a share
  double noise = -1;                 ///< see Gate
  std::vector<std::string> regions;  ///< paths of the gate; empty: the step
  Statistic statistic = Statistic::p25;
};

/// Two sides of runs beside each other.
struct Comparison {
  std::vector<ComparedRun> base;
  std::vector<ComparedRun> now;
  std::vector<Finding> obstacles;       ///< why the sides should not be compared
  std::vector<Finding> differences;     ///< what differs besides times
  std::vector<Finding> findings;        ///< regions that are missing, new, or called differently often; losses
  std::vector<ComparedRegion> regions;  ///< the step first, if there are steps
  std::vector<ComparedFigure> rates;    ///< throughput
  Statistic statistic = Statistic::p25;
  RunPairs pairs;        ///< empty: the sides did not run in turn, or one has more runs
  bool in_turn = false;  ///< false: all runs of one side began before those of the other
  bool has_gate = false;
  double threshold = 0;
  double noise = -1;
  Answer answer = Answer::no_regression;  ///< of all gates: the worst
};

/// "+1.23 %" of 0.0123.
std::string signed_percent(double share);

/// REQUIRES: a run on each side. Any thread.
Comparison compare_runs(std::vector<ComparedRun> base, std::vector<ComparedRun> now, const ComparisonOptions& options);

/// Why the sides should not be compared: another number of ranks, or regions that only one side has. Any thread.
std::vector<Finding> obstacles_of(const std::vector<ComparedRun>& base, const std::vector<ComparedRun>& now);

/// What differs besides: facts, runs that have not finished, sides that were not run in turn. Any thread.
std::vector<Finding> differences_of(const std::vector<ComparedRun>& base, const std::vector<ComparedRun>& now);

/// Whether not all runs of one side began before those of the other, or there are too few to say so. Any thread.
bool in_turn(const std::vector<ComparedRun>& base, const std::vector<ComparedRun>& now);

/// Whether some runs have the times of a region by steps and others by calls: these do not compare. Any thread.
bool has_unlike_times(const std::vector<ComparedRun>& base, const std::vector<ComparedRun>& now,
                      const std::string& path);

/// Regions that are missing, new, in some runs only, called differently often, or several of one name; losses, items.
/// Any thread.
std::vector<Finding> findings_of(const std::vector<ComparedRun>& base, const std::vector<ComparedRun>& now);

}  // namespace detail
TAKT_END_NAMESPACE
