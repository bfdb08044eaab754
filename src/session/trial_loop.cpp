// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "session/trial_loop.hpp"

#include <takt/device.hpp>

#include "base/fault.hpp"
#include "base/format.hpp"
#include "base/words.hpp"
#include "process/diversion.hpp"
#include "process/process.hpp"
#include "record/listeners.hpp"
#include "session/session_impl.hpp"
#include "session/stream_wait.hpp"
#include "trials/trial_finding.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr Key kTrialKeys[kTrialKinds] = {Key{"trial SYNTHETIC"}, Key{"trial IO"}, Key{"trial FULL"}};

std::atomic<bool> g_trials_open{false};

std::uint64_t process_time() noexcept { return process_clock().now_ns(); }
std::uint64_t trial_now() noexcept { return trial_clock.load(std::memory_order_relaxed)(); }

std::int64_t unix_now() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// In the order of TrialKind: IO before FULL, so that this one does not begin with what the loader has prefetched.
bool is_wanted_kind(const TrialOptions& options, TrialKind kind) noexcept {
  return kind == TrialKind::synthetic ? options.synthetic : kind == TrialKind::io ? options.io : options.full;
}

TrialTurn turn_of(TrialKind kind) noexcept {
  return kind == TrialKind::io ? TrialTurn::take : kind == TrialKind::full ? TrialTurn::give : TrialTurn::again;
}

}  // namespace

std::atomic<TrialClock> trial_clock{process_time};

bool trials_are_open() noexcept { return g_trials_open.load(std::memory_order_relaxed); }

TrialLoop::TrialLoop(SessionImpl& session, const TrialOptions& options)
    : session_(session), options_(options), begun_ns_(trial_now()) {
  for (unsigned kind = 0; kind < kTrialKinds; ++kind) {
    if (!is_wanted_kind(options_, static_cast<TrialKind>(kind))) { continue; }
    for (unsigned number = 0; number <= kMeasuredTrials; ++number) {
      plans_.push_back({static_cast<TrialKind>(kind), number});
    }
  }
}

bool TrialLoop::begin() {
  diverted_ = diversion().begin();
  over_ = !diverted_;
  if (diverted_) { g_trials_open.store(true, std::memory_order_relaxed); }
  if (diverted_ && options_.save) { options_.save(); }
  return diverted_;
}

TrialLoop::~TrialLoop() {
  try {
    if (!over_) { cut("the program left the loop"); }
  } catch (...) {}  // no memory for results, or whatever the program's functions throw
  divert_no_more();
}

void TrialLoop::divert_no_more() noexcept {
  if (!std::exchange(diverted_, false)) { return; }
  diversion().end();
  g_trials_open.store(false, std::memory_order_relaxed);
}

TrialTurn TrialLoop::next() {
  if (!over_) {
    const std::uint64_t now_ns = trial_now();
    if (in_step_) { end_step(now_ns); }
    if (in_trial_ && is_trial_over(now_ns)) { end_trial(); }
  }
  if (!over_ && !in_trial_) { begin_trial(); }
  if (over_) { return options_.go_on && cut_.empty() ? TrialTurn::go_on : TrialTurn::end; }
  if (plan().kind == TrialKind::full && is_measured()) { diversion().set_window_step(full_steps_++); }
  items_before_ = diversion().items();
  step_ = TrialStep();
  in_step_ = true;
  step_ns_ = trial_now();
  return turn_of(plan().kind);
}

void TrialLoop::begin_trial() {
  if (options_.barrier) { options_.barrier(); }
  trial_ = Trial();
  trial_.steps.reserve(static_cast<std::size_t>(options_.steps));
  trial_.begin_unix_ns = unix_now();
  trial_steps_ = 0;
  in_trial_ = true;
  if ((mode().load(std::memory_order_relaxed) & kModeListening) != 0) {
    told_ = tell_begin(kTrialKeys[static_cast<unsigned>(plan().kind)]);
  }
  trial_ns_ = trial_now();
}

/// From the request for its batch to the next one.
void TrialLoop::end_step(std::uint64_t now_ns) noexcept {
  in_step_ = false;
  diversion().set_window_step(Diversion::kNoStep);
  ++trial_steps_;
  batches_ += plan().kind == TrialKind::synthetic ? 0 : 1;
  steps_ += plan().kind == TrialKind::io ? 0 : 1;
  step_.ns = now_ns - step_ns_;
  if (options_.items > 0) {
    step_.items = static_cast<std::uint64_t>(options_.items);
  } else if (plan().kind == TrialKind::synthetic && kept_.items > 0) {
    step_.items = static_cast<std::uint64_t>(kept_.items);
  } else if (step_.items == 0) {
    step_.items = diversion().items() - items_before_;
  }
  trial_.steps.push_back(step_);  // there is room
}

bool TrialLoop::is_trial_over(std::uint64_t now_ns) const noexcept {
  const bool timed = options_.seconds > 0 && session_.run().world_size == 1;
  return trial_steps_ >= static_cast<std::uint64_t>(options_.steps) ||
         (timed && static_cast<double>(now_ns - trial_ns_) >= options_.seconds * 1e9);
}

void TrialLoop::end_trial() {
  const std::uint64_t now_ns = trial_now();
  failed_waits_ += wait() ? 0 : 1;
  trial_.wait_ns = trial_now() - now_ns;
  trial_.end_unix_ns = unix_now();
  if (const unsigned told = std::exchange(told_, 0)) { tell_end(told, kTrialKeys[static_cast<unsigned>(plan().kind)]); }
  if (is_measured() && !trial_.steps.empty()) {
    measured_[static_cast<unsigned>(plan().kind)].push_back(std::move(trial_));
  }
  in_trial_ = false;
  if (++at_ == plans_.size()) { finish(); }
}

/// Until devices have done what the loop has left to them. The one wait of a trial.
bool TrialLoop::wait() {
  if (options_.wait) {
    options_.wait();
    return true;
  }
  return wait_for_noted_streams();
}

bool TrialLoop::reset() {
  if (!options_.reset) { return false; }
  if (!restored_) { options_.reset(); }  // else the loader is where the program has put it back to
  return true;
}

void TrialLoop::begun_again() noexcept {
  step_.boundary = true;
  ++trial_.begun_again;
}

/// Only what brings batches is a cure: a reset that is there already brings none.
const char* TrialLoop::why_no_more(bool can_begin_again) const noexcept {
  if (!can_begin_again) {
    return "the loader cannot begin again, as its iterators cannot be assigned: take fewer steps";
  }
  if (!step_.boundary) { return "the loader cannot begin again: give TrialOptions::reset, or fewer steps"; }
  return options_.reset ? "after TrialOptions::reset the loader gave none: have reset put the loader back to its "
                          "begin, or take fewer steps"
                        : "the loader gave none when it began again: give one that has batches each time it begins, "
                          "or take fewer steps";
}

void TrialLoop::data_ended(bool can_begin_again) {
  in_step_ = false;  // it had no batch
  cut(trial_steps_ == 0 && batches_ == 0 ? "the loader gave no batch"
                                         : detail::format("the data ended after {} batch{}, and {}", batches_,
                                                          batches_ == 1 ? "" : "es", why_no_more(can_begin_again)));
  if (!options_.go_on) { return; }
  report_fault_once("trials.untrained",
                    "nothing was trained after the trials: they were cut off where the data ended, and so the loop "
                    "ends instead of going on, as do later loops with takt::trials()");
}

/// A training of no step looks like one that was quick.
void TrialLoop::nothing_left(bool can_begin_again) const noexcept {
  const char* cure = "take fewer steps, or give TrialOptions::restore and reset, which put the loader back";
  if (!can_begin_again) {
    cure = "take fewer steps, as the iterators of the loader cannot be assigned, and so it cannot begin again";
  } else if (restored_) {
    cure = options_.reset ? "have TrialOptions::restore put the loader back to where it was before, or take fewer steps"
                          : "have TrialOptions::restore put the loader back to where it was before, with a reset for a "
                            "range of one pass, or take fewer steps";
  } else if (options_.reset) {
    cure = "have TrialOptions::reset put the loader back to its begin, or take fewer steps";
  }
  report_fault_once("trials.untrained", Words("nothing was trained after the trials: they took ", batches_,
                                              batches_ == 1 ? " batch" : " batches",
                                              ", and the loader gave none to the loop that goes on: ", cure));
}

void TrialLoop::note_batch(const BatchFacts& facts, bool kept) noexcept {
  if (kept) {
    kept_ = facts;
    ++batches_;
  } else if (facts.items > 0) {
    step_.items = static_cast<std::uint64_t>(facts.items);
  }
}

std::uint64_t TrialLoop::begin_copy() noexcept { return trial_now(); }

void TrialLoop::end_copy(std::uint64_t begun) noexcept { step_.copy_ns += trial_now() - begun; }

/// What is left of the trials does not run. Steps that were whole count.
void TrialLoop::cut(const std::string& why) {
  const std::string number = is_measured() ? detail::format("trial {}", plan().number) : "the warm-up";
  cut_ = detail::format("in {} of {}: {}", number, to_string(plan().kind), why);
  in_step_ = false;
  plans_.resize(at_ + 1);
  if (in_trial_) {
    end_trial();
  } else {
    finish();
  }
}

/// The results are told before anything of the run is recorded again: that is in no region either.
void TrialLoop::finish() {
  over_ = true;
  if (options_.go_on && cut_.empty() && options_.restore) {
    options_.restore();
    restored_ = true;
  }
  session_.set_trials(std::make_shared<const TrialResults>(results()));
  divert_no_more();
}

std::string TrialLoop::place_of_kept() const {
  if (kept_.place != nullptr) { return kept_.place; }
  return options_.batch_place;
}

TrialResults TrialLoop::results() const {
  TrialResults results;
  std::array<bool, kTrialKinds> counted = {};
  const bool has_device = options_.wait != nullptr || diversion().streams() != 0;
  for (unsigned kind = 0; kind < kTrialKinds; ++kind) {
    const std::vector<Trial>& trials = measured_[kind];
    results.kinds[kind] = rate_of(trials, has_device);
    counted[kind] = !trials.empty() &&
                    std::all_of(trials.begin(), trials.end(), [](const Trial& each) { return each.has_all_items(); });
  }
  count_samples(results, counted);
  results.batch_place = options_.synthetic ? place_of_kept() : "";
  results.waits_by = options_.wait ? "function" : diversion().streams() != 0 ? "streams" : "";
  results.streams = diversion().streams();
  results.failed_waits = failed_waits_;
  results.steps_a_trial = static_cast<std::uint64_t>(options_.steps);
  results.seconds_a_trial = session_.run().world_size == 1 ? options_.seconds : 0;
  results.took_ns = static_cast<std::int64_t>(trial_now() - begun_ns_);
  results.batches_taken = batches_;
  results.steps_done = steps_;
  results.cut = cut_;
  results.went_on = options_.go_on && cut_.empty();
  results.restored = restored_;
  conclude_trials(results);
  return results;
}

}  // namespace detail
TAKT_END_NAMESPACE
