// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>
#include <takt/snapshot.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE

/// Kinds of trials, in the order in which they run.
enum class TrialKind : std::uint8_t {
  synthetic,  ///< the body of the loop, with one batch repeated
  io,         ///< the loader alone: the body is not entered
  full        ///< both
};
/// Number of TrialKinds.
inline constexpr unsigned kTrialKinds = 3;

/// Returns "SYNTHETIC", "IO" or "FULL".
constexpr const char* to_string(TrialKind kind) noexcept {
  return kind == TrialKind::io ? "IO" : kind == TrialKind::full ? "FULL" : "SYNTHETIC";
}

/// 95 % confidence interval of a rate.
struct TrialInterval {
  double low = 0;
  double high = 0;
};

/// One measured trial. Counts as TrialRate does.
struct OneTrial {
  std::uint64_t steps = 0;
  std::uint64_t items = 0;
  std::uint64_t ns = 0;
  double per_s = 0;  ///< items per second
};

/// Result of the measured trials of one kind.
struct TrialRate {
  std::uint64_t trials = 0;               ///< measured trials; 0: this kind was not requested or did not finish
  std::uint64_t steps = 0;                ///< steps that count
  std::uint64_t items = 0;                ///< items in these steps: samples, or batches if their samples are unknown
  std::uint64_t ns = 0;                   ///< duration of these steps, with the waits at the ends of trials
  double per_s = 0;                       ///< items per second
  std::optional<TrialInterval> interval;  ///< interval of the rate; empty if there are too few trials and steps
  bool over_trials = false;               ///< the interval is from the variation of trials, not of windows of steps
  std::uint64_t n = 0;                    ///< number of trials or windows behind the interval

  std::uint64_t wait_ns = 0;         ///< part of ns: waits for streams at the ends of trials
  std::uint64_t copy_ns = 0;         ///< time spent copying the kept batch; in ns only with copies_count
  bool copies_count = false;         ///< the loop uses streams, which continue meanwhile
  std::uint64_t begun_again = 0;     ///< number of loader restarts because its data had ended
  std::uint64_t left_out_steps = 0;  ///< steps that contain a restart; excluded
  std::uint64_t left_out_ns = 0;
  std::int64_t begin_unix_ns = 0;  ///< wall-clock time of the first measured trial's start
  std::int64_t end_unix_ns = 0;    ///< wall-clock time of the last one's end
  std::vector<OneTrial> each;      ///< the measured trials, in order: they add up to steps, items and ns
};

/// Results of a loop's trials (takt/trials.hpp). A value.
struct TrialResults {
  std::array<TrialRate, kTrialKinds> kinds;  ///< by TrialKind
  std::string unit = "batches";              ///< unit of items: "samples" or "batches"
  std::string batch_place;          ///< location of SYNTHETIC's kept batch, such as "host" or "device"; empty: unknown
  std::string waits_by;             ///< "streams", "function", or empty: no wait was needed
  std::uint64_t streams = 0;        ///< number of device streams that the loop used
  std::uint64_t failed_waits = 0;   ///< failed waits for streams: their work may count in the next trial
  std::uint64_t steps_a_trial = 0;  ///< maximum steps per trial
  double seconds_a_trial = 0;       ///< maximum seconds per trial; 0: no limit
  std::int64_t took_ns = 0;         ///< duration of all trials, with the warm-up ones
  std::uint64_t batches_taken = 0;  ///< batches taken from the loader
  std::uint64_t steps_done = 0;     ///< steps done by the body
  std::string cut;                  ///< reason why they ended early; empty: they did not
  bool went_on = false;             ///< the loop continued afterwards
  bool restored = false;            ///< the program restored its saved state
  std::optional<Finding> finding;   ///< conclusion; empty if `unreported` has a reason
  std::string unreported;

  const TrialRate& of(TrialKind kind) const noexcept { return kinds[static_cast<unsigned>(kind)]; }
  TrialRate& of(TrialKind kind) noexcept { return kinds[static_cast<unsigned>(kind)]; }
};

TAKT_END_NAMESPACE
