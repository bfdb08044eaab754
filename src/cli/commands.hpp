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

// Exit statuses besides 0 (success).
constexpr int kBroken = 1;   ///< nothing found, unreadable or incomplete: calling again does not help
constexpr int kUsage = 2;    ///< wrong options
constexpr int kRemains = 3;  ///< some data is still to be delivered
constexpr int kLossy = 4;    ///< all possible data is delivered, but some was dropped before or is refused

enum class ReportForm { table, json, csv, steps, html };

struct ReportOptions {
  ReportForm form = ReportForm::table;
  std::string file;       ///< output file of the form html
  int rank = -1;          ///< only this rank; -1: all ranks
  bool per_rank = false;  ///< also each rank
  std::string columns;    ///< as TableForm::columns
  ConsoleOptions drawn;   ///< layout of tables, as below
};

/// Implements `takt report`: prints the runs. Each of these functions returns the exit status.
/// \throws takt::Error for errors that the user must fix.
int report(const std::vector<std::string>& runs, const ReportOptions& options);

struct WatchOptions {
  double every_s = 2;  ///< seconds between outputs; longer if they take long
  bool once = false;
  bool wait = false;  ///< wait for an active run if there is none
  ConsoleOptions drawn;
};

/// Implements `takt watch`: shows a run while it is active.
int watch(const std::string& run, const WatchOptions& options);

/// Implements `takt check`: prints which data is complete and which is lost.
int check(const std::vector<std::string>& runs);

struct SyncOptions {
  bool every_step = false;  ///< like MlflowOptions; for runs of which nothing was sent yet
  bool all_ranks = false;
  int timeout_s = 60;  ///< maximum time without accepted data, in s
  std::string to;      ///< name of a destination; empty: mlflow or mantik, depending on the variables
};

/// Implements `takt sync`: delivers undelivered data.
int sync(const std::vector<std::string>& runs, const SyncOptions& options);

enum class ScalingForm { table, json, csv };

struct ScalingOptions {
  std::vector<std::string> runs;
  std::vector<std::string> without_loader;         ///< runs of the same sizes
  std::vector<std::string> without_communication;  ///< likewise
  bool weak = false;
  bool strong = false;
  ScalingForm form = ScalingForm::table;
  std::string html;  ///< file for the page of the comparison; empty: none
  ConsoleOptions drawn;
};

/// Implements `takt scaling`: prints the effect of more ranks, and its limits.
int scaling(const ScalingOptions& options);

/// Implements `takt trace`: writes a time line of all ranks on one clock, or of one rank; -1: all.
/// \param file see trace_file().
int trace(const std::string& run, const std::string& file, int rank);

/// Implements `takt merge`: puts ranks' directories, runs' directories and merged files into one file. With `force`,
/// replaces an existing merged file.
int merge(const std::vector<std::string>& directories, const std::string& file, bool force);

struct LsOptions {
  bool json = false;
  std::string name;                 ///< a shell pattern; empty: any
  std::vector<std::string> params;  ///< "key" or "key=pattern"; a run must match all of them
  std::vector<std::string> tags;    ///< likewise
  ConsoleOptions drawn;
};

/// Implements `takt ls`: prints a line for each run in `directory`, newest first. Empty: the default directory of runs.
int ls(const std::string& directory, const LsOptions& options);

struct DiffOptions {
  std::vector<std::string> now;      ///< directories of the new side
  std::string fail_on;               ///< "2%"; empty: no gate
  std::vector<std::string> regions;  ///< regions of the gate; empty: the step
  std::string statistic;             ///< "mean" and the like; empty: the default
  std::string noise;                 ///< "3%"; empty: unknown
  std::string reason;                ///< why sides with obstacles are compared
  bool json = false;
  bool markdown = false;
  std::string html;  ///< file for the page of the comparison; empty: none
  ConsoleOptions drawn;
};

/// Implements `takt diff`: compares runs. Returns 0, 1 for a regression, kUsage if they cannot be compared, or 3 if the
/// runs are inconclusive.
int diff(const std::vector<std::string>& base, const DiffOptions& options);

enum class PredictForm { table, json, csv };

struct PredictOptions {
  std::string run;
  std::vector<std::string> at;  ///< "batch=24,resolution=224"
  std::string name;             ///< a shell pattern of measurements; empty: any
  PredictForm form = PredictForm::table;
  ConsoleOptions drawn;
};

/// Implements `takt predict`: predicts the costs of a model at sizes between the measured ones of a run.
int predict(const PredictOptions& options);

/// Returns why `text` is no value of PredictOptions::at; empty: it is one.
std::string why_no_point(const std::string& text);

struct PredictCheckOptions {
  std::string file;  ///< file of predictions
  std::string run;
  bool json = false;
  ConsoleOptions drawn;
};

/// Implements `takt predict-check`: compares predictions of models with the measurements of a run.
int predict_check(const PredictCheckOptions& options);

/// Returns the message for an error. Errors of the standard library lack a cure; for out of memory this adds one.
/// \return valid while `error` lives. Needs no memory.
const char* failure_text(const std::exception& error) noexcept;

/// Writes a page; the file appears when it is complete.
/// \throws takt::Error if it cannot be written.
void write_page_file(const std::string& file, const std::string& page);

}  // namespace cli
TAKT_END_NAMESPACE
