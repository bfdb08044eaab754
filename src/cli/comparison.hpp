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

/// Path of the step among the regions; no program's key has this name by chance.
constexpr const char* kStepRegion = "(step)";

/// Statistic that decides the gate and the marks.
enum class Statistic {
  p25,  ///< a quarter of the steps take no longer; insensitive to stalls and slow steps
  p50,
  mean,
  p95,
  throughput  ///< time an item of the step; other regions use their mean
};
/// "p25", "p50", "mean", "p95", "throughput".
const char* statistic_word(Statistic statistic) noexcept;

/// Times of a region, or of the step, in one run, in ns; 0: unknown.
struct RunRegion {
  bool of_steps = false;  ///< time in a step; false: time of a call, as steps do not have all its calls
  RunFigure mean;
  RunFigure p25;
  RunFigure p50;
  RunFigure p95;
  RunFigure p99;
  RunFigure device_mean;
  double calls_a_step = 0;
  double times_a_step = 0;  ///< steps with the region, or its calls, per step
  std::size_t paths = 1;    ///< paths of this name, counted together: they differ in kind, or in a "/" inside a key
};

/// A run in a comparison.
struct ComparedRun {
  std::string name;      ///< display name
  std::string identity;  ///< equal for copies of the run
  std::int64_t start_unix_ns = 0;
  std::size_t ranks = 0;  ///< ranks with a journal
  std::size_t world_size = 0;
  std::string state;
  double waited = -1;     ///< longest wait of a rank's thread for a processor, as a share of the run; -1: unknown
  std::string step_path;  ///< path of the Batch whose steps count; empty: none
  RunRegion step;         ///< step periods of the slowest rank
  double items_per_s = 0;
  double items_a_step = 0;
  std::map<std::string, RunRegion> regions;     ///< by path
  std::map<std::string, std::string> facts;     ///< "parameter lr", "host" and the like, for display
  std::map<std::string, std::uint64_t> losses;  ///< counts by identifier
};

/// A figure of both sides.
struct ComparedFigure {
  std::string name;  ///< "p25", "p50", "mean", "p95", "p99", "device_mean", "time_an_item", "items_per_s"
  double base = 0;   ///< geometric mean over runs
  double now = 0;
  Change change;
};

enum class ChangeMark {
  unclear,  ///< not significant
  slower,   ///< significant among all regions
  faster
};

/// A region of both sides, or the step, as printed in text, JSON and Markdown.
struct ComparedRegion {
  std::string path;                     ///< kStepRegion, or a path as of Snapshot::path_name()
  std::vector<ComparedFigure> figures;  ///< figures that all runs have, the deciding one first
  double times_a_step = 0;              ///< mean of the new runs
  ChangeMark mark = ChangeMark::unclear;
  bool is_gate = false;
  GateAnswer gate;  ///< set if is_gate
};

struct ComparisonOptions {
  bool has_gate = false;
  double threshold = 0;              ///< threshold of the gate, as a share
  double noise = -1;                 ///< see Gate
  std::vector<std::string> regions;  ///< paths of the gate; empty: the step
  Statistic statistic = Statistic::p25;
};

/// Two sides of runs, side by side.
struct Comparison {
  std::vector<ComparedRun> base;
  std::vector<ComparedRun> now;
  std::vector<Finding> obstacles;       ///< reasons not to compare the sides
  std::vector<Finding> differences;     ///< differences besides times
  std::vector<Finding> findings;        ///< missing and new regions, changed numbers of calls, dropped data
  std::vector<ComparedRegion> regions;  ///< the step first, if there are steps
  std::vector<ComparedFigure> rates;    ///< throughput
  Statistic statistic = Statistic::p25;
  RunPairs pairs;        ///< empty: the sides did not run in turn, or have different numbers of runs
  bool in_turn = false;  ///< false: all runs of one side started before those of the other
  bool has_gate = false;
  double threshold = 0;
  double noise = -1;
  Answer answer = Answer::no_regression;  ///< worst answer of all gates
};

/// Formats 0.0123 as "+1.23 %".
std::string signed_percent(double share);

/// Compares two sides. REQUIRES: a run on each side. Any thread.
Comparison compare_runs(std::vector<ComparedRun> base, std::vector<ComparedRun> now, const ComparisonOptions& options);

/// Returns reasons not to compare: different numbers of ranks, or regions of only one side. Any thread.
std::vector<Finding> obstacles_of(const std::vector<ComparedRun>& base, const std::vector<ComparedRun>& now);

/// Returns other differences: facts, unfinished runs, sides that were not run in turn. Any thread.
std::vector<Finding> differences_of(const std::vector<ComparedRun>& base, const std::vector<ComparedRun>& now);

/// Returns false if all runs of one side started before those of the other. True if there are too few. Any thread.
bool in_turn(const std::vector<ComparedRun>& base, const std::vector<ComparedRun>& now);

/// Returns true if some runs have a region's times by steps and others by calls: these cannot be compared. Any thread.
bool has_unlike_times(const std::vector<ComparedRun>& base, const std::vector<ComparedRun>& now,
                      const std::string& path);

/// Returns missing, new or occasional regions, changed numbers of calls, shared names, dropped data and changed items.
/// Any thread.
std::vector<Finding> findings_of(const std::vector<ComparedRun>& base, const std::vector<ComparedRun>& now);

}  // namespace detail
TAKT_END_NAMESPACE
