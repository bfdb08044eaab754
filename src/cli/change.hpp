// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstddef>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A figure of one run.
struct RunFigure {
  double value = 0;       ///< above 0
  double resolution = 0;  ///< relative standard error that more steps do not reduce, from the histogram
};

/// Indexes of a base run and a new run that ran one right after the other.
using RunPairs = std::vector<std::pair<std::size_t, std::size_t>>;

/// Source of an interval.
enum class Basis {
  pairs,  ///< the scatter of the ratios of adjacent runs, which share the state of the machine
  runs,   ///< the scatter between the runs of each side
  none    ///< no interval
};

/// Relative change of a figure from one side to the other: 0.02 is 2 %.
struct Change {
  double change = 0;
  double low = 0;  ///< 95 % interval, or that of the requested level
  double high = 0;
  Basis basis = Basis::none;
  double scatter = 0;         ///< standard deviation of logarithms: of the ratios of pairs, or between runs of one side
  double standard_error = 0;  ///< standard error of the logarithm of the change
  double level = 0;           ///< level of this interval alone; with pairs it is the shorter of two
  double degrees = 0;         ///< degrees of freedom
  std::size_t runs = 0;       ///< on the side with fewer runs
};

constexpr std::size_t kRunsForScatter = 3;

/// Returns the change of the means of logarithms over runs, with an interval by Student's t: with pooled scatter if the
/// sides have equal numbers of runs, else by Welch. With `pairs` a second interval uses the scatter of their ratios; it
/// is smaller if adjacent runs share the machine's speed, but has half the degrees of freedom. Each interval then has
/// level (1 + level) / 2 (Bonferroni), and the shorter one is used. Fewer than kRunsForScatter runs on a side give no
/// interval: the steps of one run do not show how much runs differ.
/// REQUIRES: a run on each side, values above 0; pairs that hold each run once, or none. Any thread.
Change change_of(const std::vector<RunFigure>& base, const std::vector<RunFigure>& now, const RunPairs& pairs = {},
                 double level = 0.95);

enum class Answer { no_regression, regression, inconclusive };

/// Result of a gate.
struct GateAnswer {
  Answer answer = Answer::inconclusive;
  double detectable = 0;        ///< change that such runs detect as a regression in 95 % of cases; 0: unknown
  std::size_t runs_needed = 0;  ///< on each side, for an answer; 0: unknown; above kMaxRunsNeeded: more than that
};

constexpr std::size_t kMaxRunsNeeded = 1000;

/// Settings of a gate.
struct Gate {
  double threshold = 0;  ///< allowed growth of a figure, as a share
  double noise = -1;     ///< known maximum difference of two unchanged runs, as a share; negative: unknown
  bool in_turn = true;   ///< false: one side ran first, so a change of the machine looks like one of the program
};

/// Judges whether a figure has grown by more than the threshold. Regression: the interval is above the threshold. No
/// regression: the interval is below it and there are enough runs, or the figure has clearly decreased (99.9 %). Enough
/// runs detect twice the threshold, and pass no change, with 95 % probability each, at the upper bound of the scatter.
/// Without an interval, or if the sides did not run in turn, only changes beyond a given noise are judged. Any thread.
GateAnswer judge(const Change& change, const Gate& gate);

}  // namespace detail
TAKT_END_NAMESPACE
