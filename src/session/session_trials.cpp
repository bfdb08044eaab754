// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Trials: where a loop's come from, and where their results go.
#include "base/format.hpp"
#include "session/session_impl.hpp"

#include <takt/error.hpp>

#include "base/fault.hpp"
#include "base/quiet_signals.hpp"
#include "report/page.hpp"
#include "report/trials_json.hpp"
#include "report/trials_report.hpp"
#include "session/trial_loop.hpp"

#include <cmath>
#include <cstdio>
#include <new>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr const char* kTrialsFile = "trials.json";

/// \throws Error for what cannot be.
void check_options(const TrialOptions& options) {
  if (options.steps < 1 || options.steps > kMostTrialSteps) {
    throw Error(detail::format("takt: TrialOptions::steps is {}; a trial has 1 to {}", options.steps, kMostTrialSteps));
  }
  if (!std::isfinite(options.seconds) || options.seconds < 0 ||
      options.seconds > static_cast<double>(kMostTrialSeconds)) {
    throw Error(detail::format("takt: TrialOptions::seconds is {}; a trial has 0 (however long) to {}", options.seconds,
                               kMostTrialSeconds));
  }
  if (options.items < 0) {
    throw Error(detail::format(
        "takt: TrialOptions::items is {}; a batch has 1 or more, and 0 means that it tells itself", options.items));
  }
}

}  // namespace

void SessionImpl::set_trials(const std::shared_ptr<const TrialResults>& trials) {
  {
    const std::lock_guard<std::mutex> lock(data_);
    trials_ = trials;
  }
  if (trials->finding) { set_tag("takt.trials", trials->finding->sentence); }
  const QuietSignals quiet;  // this is a thread of the program's
  write_file(kTrialsFile, trials_json(run_, *trials));
  if (!trials->cut.empty()) { report_fault("trials.cut", "the trials were cut off " + trials->cut); }
  if (trials->went_on && !trials->restored) {
    report_fault(
        "trials.moved",
        detail::format("the loop goes on after its trials without TrialOptions::save and restore: weights and random "
                       "state have moved by {} steps, and {} batches were taken from the loader",
                       trials->steps_done, trials->batches_taken));
  }
  if (!prints()) { return; }
  std::fputs(
      format_trials(run_, *trials, width_of(stdout, 0), wants_color(stdout, ConsoleOptions::Color::automatic)).c_str(),
      stdout);
  std::fflush(stdout);
}

std::shared_ptr<const TrialResults> SessionImpl::trials() {
  const std::lock_guard<std::mutex> lock(data_);
  return trials_;
}

/// A run that is killed, or dies, leaves its trials wherever they are.
void SessionImpl::tell_open_trials() noexcept {
  if (!trials_are_open()) { return; }
  {
    const std::lock_guard<std::mutex> lock(data_);
    if (uncaught_.happened) { return; }
  }
  report_fault("trials.open",
               "trials were still open when the run ended: what was recorded since they began is in none of its "
               "figures. Where the loop was left, let the object of takt::trials() end with its loop, in a scope of "
               "its own");
}

TrialLoopPointer begin_trials(const Session& session, const TrialOptions& options, bool may_repeat) {
  SessionImpl* const running = running_session();
  const bool is_this = running != nullptr && &running->run() == &session.run();
  if (!options.any() || !is_this || running->is_silent()) { return nullptr; }
  check_options(options);
  if (const auto before = running->trials()) {  // once in a process
    return before->went_on ? nullptr : TrialLoopPointer(new TrialLoop(*running));
  }
  TrialOptions wanted = options;
  if (!may_repeat && std::exchange(wanted.synthetic, false)) {
    report_fault_once("trials.synthetic", "SYNTHETIC does not run: the program says that a batch can be had once only");
  }
  if (!wanted.any()) { return nullptr; }
  TrialLoopPointer loop(new TrialLoop(*running, wanted));
  return loop->begin() ? std::move(loop) : nullptr;
}

void TrialLoopEnd::operator()(TrialLoop* loop) const noexcept { delete loop; }
TrialTurn next_turn(TrialLoop& loop) { return loop.next(); }
bool reset_data(TrialLoop& loop) { return loop.reset(); }
void begun_again(TrialLoop& loop) noexcept { loop.begun_again(); }
void data_ended(TrialLoop& loop, bool can_begin_again) { loop.data_ended(can_begin_again); }
void gone_on(TrialLoop& loop, bool has_batch, bool can_begin_again) noexcept {
  if (!has_batch) { loop.nothing_left(can_begin_again); }
}
void note_batch(TrialLoop& loop, const BatchFacts& facts, bool kept) noexcept { loop.note_batch(facts, kept); }
std::uint64_t begin_copy(TrialLoop& loop) noexcept { return loop.begin_copy(); }
void end_copy(TrialLoop& loop, std::uint64_t begun) noexcept { loop.end_copy(begun); }

}  // namespace detail
TAKT_END_NAMESPACE
