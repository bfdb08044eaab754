// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>
#include <takt/snapshot.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>

TAKT_BEGIN_NAMESPACE

/// What a trial lets run, in the order in which they do.
enum class TrialKind : std::uint8_t {
  synthetic,  ///< the body of the loop, with one batch given again and again
  io,         ///< the loader alone: the body is not entered
  full        ///< both
};
/// How many TrialKinds there are.
inline constexpr unsigned kTrialKinds = 3;

/// "SYNTHETIC", "IO" or "FULL".
constexpr const char* to_string(TrialKind kind) noexcept {
  return kind == TrialKind::io ? "IO" : kind == TrialKind::full ? "FULL" : "SYNTHETIC";
}

/// Where a rate lies in 95 of 100 cases.
struct TrialInterval {
  double low = 0;
  double high = 0;
};

/// What the measured trials of one kind gave.
struct TrialRate {
  std::uint64_t trials = 0;  ///< that were measured; 0: this kind was not wanted, or did not come to its end
  std::uint64_t steps = 0;   ///< that count
  std::uint64_t items = 0;   ///< in these: samples, or batches where nobody told how many samples are in one
  std::uint64_t ns = 0;      ///< that these took, with the waits at the ends of trials
  double per_s = 0;          ///< items by time
  std::optional<TrialInterval> interval;  ///< of it; none of fewer than three trials
  bool over_trials = false;  ///< the interval is that of the scatter of trials, and not of windows of steps
  std::uint64_t n = 0;       ///< of these, that the interval rests on

  std::uint64_t wait_ns = 0;         ///< of ns, at the ends of trials until the streams had done their work
  std::uint64_t copy_ns = 0;         ///< in which the kept batch was copied; in ns only with copies_count
  bool copies_count = false;         ///< the loop uses streams, which go on meanwhile
  std::uint64_t begun_again = 0;     ///< how often the loader was begun again, as its data had ended
  std::uint64_t left_out_steps = 0;  ///< with such a beginning inside; they do not count
  std::uint64_t left_out_ns = 0;
  std::int64_t begin_unix_ns = 0;  ///< by the wall clock, of the first measured trial
  std::int64_t end_unix_ns = 0;    ///< of the last one
};

/// What the trials of a loop gave (takt/trials.hpp). A value.
struct TrialResults {
  std::array<TrialRate, kTrialKinds> kinds;  ///< by TrialKind
  std::string unit = "batches";              ///< of items: "samples" or "batches"
  std::string batch_place;    ///< where the kept batch of SYNTHETIC lies, such as "host" or "device"; empty: not known
  std::string waits_by;       ///< "streams", "function", or empty: nothing had to be waited for
  std::uint64_t streams = 0;  ///< of devices, that the loop used
  std::uint64_t failed_waits = 0;   ///< of these at the ends of trials: work may have been left to the next one
  std::uint64_t steps_a_trial = 0;  ///< at most
  double seconds_a_trial = 0;       ///< likewise; 0: no matter how long they take
  std::int64_t took_ns = 0;         ///< all trials, those to warm up included
  std::uint64_t batches_taken = 0;  ///< from the loader
  std::uint64_t steps_done = 0;     ///< by the body
  std::string cut;                  ///< why they ended before their end; empty: they did not
  bool went_on = false;             ///< the loop went on afterwards
  bool restored = false;            ///< from where the program had saved it
  std::optional<Finding> finding;   ///< what they say; nothing where `untold` tells why
  std::string unreported;

  const TrialRate& of(TrialKind kind) const noexcept { return kinds[static_cast<unsigned>(kind)]; }
  TrialRate& of(TrialKind kind) noexcept { return kinds[static_cast<unsigned>(kind)]; }
};

TAKT_END_NAMESPACE
