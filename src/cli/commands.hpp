// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>
#include <takt/exporters/console.hpp>

#include <exception>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

// Exit statuses, beside 0: fine.
constexpr int kBroken = 1;   ///< nothing there, not readable or not whole: calling again does not help
constexpr int kUsage = 2;    ///< wrong options
constexpr int kRemains = 3;  ///< something is still to be delivered
constexpr int kLossy = 4;    ///< what can be delivered is, but some was lost before, or is refused for good

enum class ReportForm { table, json, csv, steps, html };

struct ReportOptions {
  ReportForm form = ReportForm::table;
  std::string file;       ///< of the form html: where it goes
  int rank = -1;          ///< of this one alone; -1: of all
  bool per_rank = false;  ///< of each rank, too
  std::string columns;    ///< as TableForm::columns
  ConsoleOptions drawn;   ///< how tables are, here as below
};

/// `takt report`: prints what the runs say. Each of these returns the exit status.
/// \throws takt::Error for what the user has to change.
int report(const std::vector<std::string>& runs, const ReportOptions& options);

struct WatchOptions {
  double every_s = 2;  ///< between two pictures or lines, or longer where they take long
  bool once = false;
  bool wait = false;  ///< for a run, where there is none that goes on
  ConsoleOptions drawn;
};

/// `takt watch`: shows a run while it goes on.
int watch(const std::string& run, const WatchOptions& options);

/// `takt check`: prints what is whole and what is lost.
int check(const std::vector<std::string>& runs);

struct SyncOptions {
  bool every_step = false;  ///< as of MlflowOptions; for runs of which nothing was sent yet
  bool all_ranks = false;
  int timeout_s = 60;  ///< without an answer that takes something
  std::string to;      ///< the name of a destination; empty: mlflow or mantik, as the variables say
};

/// `takt sync`: delivers what has not been delivered.
int sync(const std::vector<std::string>& runs, const SyncOptions& options);

enum class ScalingForm { table, json, csv };

struct ScalingOptions {
  std::vector<std::string> runs;
  std::vector<std::string> without_loader;         ///< of the same sizes
  std::vector<std::string> without_communication;  ///< likewise
  bool weak = false;
  bool strong = false;
  ScalingForm form = ScalingForm::table;
  ConsoleOptions drawn;
};

/// `takt scaling`: prints what more ranks bring, and what keeps them from bringing more.
int scaling(const ScalingOptions& options);

/// `takt trace`: writes a time line of all ranks by one clock, or of this one alone; -1: of all.
/// \param file as of trace_file().
int trace(const std::string& run, const std::string& file, int rank);

/// `takt merge`: puts the ranks of these directories, directories of runs and merged files into one file. An existing
/// one is
/// replaced with `force`, where it is a merged file.
int merge(const std::vector<std::string>& directories, const std::string& file, bool force);

struct LsOptions {
  bool json = false;
  std::string name;                 ///< a pattern as of the shell; empty: any
  std::vector<std::string> params;  ///< "key" or "key=pattern", all of which a run has to have
  std::vector<std::string> tags;    ///< likewise
  ConsoleOptions drawn;
};

/// `takt ls`: prints a line for each run in `directory`, the newest first. Empty: in the directory where runs go.
int ls(const std::string& directory, const LsOptions& options);

struct DiffOptions {
  std::vector<std::string> now;      ///< directories of the new side
  std::string fail_on;               ///< "2%"; empty: no gate
  std::vector<std::string> regions;  ///< of the gate; empty: the step
  std::string statistic;             ///< "mean" and the like; empty: the usual one
  std::string noise;                 ///< "3%"; empty: not known
  std::string reason;                ///< why sides that should not be compared are
  bool json = false;
  bool markdown = false;
  std::string html;  ///< the file that gets the page of the comparison; empty: none
  ConsoleOptions drawn;
};

/// `takt diff`: compares runs. Returns 0, 1 for a regression, kUsage for whatever kept it from comparing, or 3 where
/// the runs do not tell.
int diff(const std::vector<std::string>& base, const DiffOptions& options);

struct PredictOptions {
  std::string file;  ///< the predictions
  std::string run;
  bool json = false;
  ConsoleOptions drawn;
};

/// `takt predict-check`: sets what was predicted of models beside what a run has measured.
int predict_check(const PredictOptions& options);

/// What the user is told of an error. One of the standard library's names no cure: where memory lacks, this does.
/// \return as long as `error` lives. Needs no memory.
const char* failure_text(const std::exception& error) noexcept;

/// Writes a page, which appears under its name when it is whole.
/// \throws takt::Error where it cannot be written.
void write_page_file(const std::string& file, const std::string& page);

}  // namespace cli
TAKT_END_NAMESPACE
