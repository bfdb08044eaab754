// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "session/session_trials.hpp"

#include "base/format.hpp"
#include "base/report_error.hpp"
#include "base/text.hpp"
#include "base/threads.hpp"
#include "measure/trial_rate.hpp"
#include "process/diversion.hpp"
#include "process/process.hpp"
#include "record/listeners.hpp"
#include "report/text_table.hpp"
#include "report/trials_report.hpp"
#include "session/session_impl.hpp"
#include "session/stream_wait.hpp"

#include <takt/backend.hpp>
#include <takt/error.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <new>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr Key kTrialKeys[kTrialKinds] = {Key{"trial SYNTHETIC"}, Key{"trial IO"}, Key{"trial FULL"}};

std::uint64_t process_time() noexcept { return process_clock().now_ns(); }
std::uint64_t trial_now() noexcept { return trial_clock.load(std::memory_order_relaxed)(); }

std::int64_t unix_now() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// IO comes before FULL in TrialKind, so that FULL does not start with batches prefetched by the loader.
bool is_wanted_kind(const TrialOptions& options, TrialKind kind) noexcept {
  return kind == TrialKind::synthetic ? options.synthetic : kind == TrialKind::io ? options.io : options.full;
}

TrialTurn turn_of(TrialKind kind) noexcept {
  return kind == TrialKind::io ? TrialTurn::take : kind == TrialKind::full ? TrialTurn::give : TrialTurn::again;
}

}  // namespace

std::atomic<TrialClock> trial_clock{process_time};

TrialLoop::TrialLoop(SessionImpl& session, const TrialOptions& options)
    : session_(session), options_(options), started_ns_(trial_now()) {
  for (unsigned kind = 0; kind < kTrialKinds; ++kind) {
    if (!is_wanted_kind(options_, static_cast<TrialKind>(kind))) { continue; }
    for (int number = 1 - options_.warmup; number <= options_.trials; ++number) {
      plans_.push_back({static_cast<TrialKind>(kind), static_cast<unsigned>(std::max(number, 0))});
    }
  }
}

bool TrialLoop::begin() {
  excluded_ = diversion().begin();
  over_ = !excluded_;
  if (excluded_) { session_.set_trials_open(true); }
  if (excluded_ && options_.save) { options_.save(); }
  return excluded_;
}

TrialLoop::~TrialLoop() {
  try {
    if (!over_) { cut("the program left the loop"); }
  } catch (...) {}  // out of memory for results, or an exception of the program's functions
  exclude_no_more();
}

void TrialLoop::exclude_no_more() noexcept {
  if (!std::exchange(excluded_, false)) { return; }
  diversion().end();
  session_.set_trials_open(false);
}

TrialTurn TrialLoop::next() {
  if (!over_) {
    const std::uint64_t now_ns = trial_now();
    if (in_step_) {
      end_step(now_ns);
      print_progress();
    }
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
    reported_ = report_begin(kTrialKeys[static_cast<unsigned>(plan().kind)]);
  }
  trial_ns_ = trial_now();
}

/// Ends a step: it lasts from the request for its batch to the next request.
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
  trial_.steps.push_back(step_);  // capacity is reserved
}

/// Prints the rate since the last such line. No step includes this.
void TrialLoop::print_progress() const {
  const std::uint64_t every = static_cast<std::uint64_t>(options_.progress_steps);
  if (every == 0 || trial_steps_ % every != 0 || !session_.prints()) { return; }
  Trial part;
  part.steps.assign(trial_.steps.end() - options_.progress_steps, trial_.steps.end());
  const bool has_items = part.has_all_items();
  const double per_s = rate_of({std::move(part)}, has_device()).per_s;
  const QuietSignals quiet;  // this is a thread of the program
  detail::print(stderr, "takt: {} of {}, {} of {} steps: {} {}/s\n", name_of_trial(), to_string(plan().kind),
                trial_steps_, options_.steps, human_rate(per_s), has_items ? "samples" : "batches");
}

std::string TrialLoop::name_of_trial() const {
  return is_measured() ? detail::format("trial {}", plan().number) : "the warm-up";
}

bool TrialLoop::has_device() const noexcept { return options_.wait != nullptr || diversion().streams() != 0; }

bool TrialLoop::is_trial_over(std::uint64_t now_ns) const noexcept {
  const bool timed = options_.time_limit.count() > 0 && session_.run().world_size == 1;
  return trial_steps_ >= static_cast<std::uint64_t>(options_.steps) ||
         (timed && std::chrono::nanoseconds(now_ns - trial_ns_) >= options_.time_limit);
}

void TrialLoop::end_trial() {
  const std::uint64_t now_ns = trial_now();
  failed_waits_ += wait() ? 0 : 1;
  trial_.wait_ns = trial_now() - now_ns;
  trial_.end_unix_ns = unix_now();
  if (const unsigned reported = std::exchange(reported_, 0)) {
    report_end(reported, kTrialKeys[static_cast<unsigned>(plan().kind)]);
  }
  if (is_measured() && !trial_.steps.empty()) {
    measured_[static_cast<unsigned>(plan().kind)].push_back(std::move(trial_));
  }
  in_trial_ = false;
  if (++at_ == plans_.size()) { finish(); }
}

/// Waits for the devices to finish the loop's work. A trial waits nowhere else.
bool TrialLoop::wait() {
  if (options_.wait) {
    options_.wait();
    return true;
  }
  return wait_for_noted_streams();
}

bool TrialLoop::reset() {
  if (!options_.reset) { return false; }
  if (!restored_) { options_.reset(); }  // else the program has already restored the loader
  return true;
}

void TrialLoop::begun_again() noexcept {
  step_.boundary = true;
  ++trial_.begun_again;
}

/// Returns the cause and the cure. A reset that is set but brought no batches must be fixed.
const char* TrialLoop::why_no_more(bool can_begin_again) const noexcept {
  if (!can_begin_again) { return "the loader cannot restart, as its iterators cannot be assigned: use fewer steps"; }
  if (!step_.boundary) { return "the loader cannot restart: set TrialOptions::reset, or use fewer steps"; }
  return options_.reset ? "after TrialOptions::reset the loader returned none: make reset rewind the loader, or use "
                          "fewer steps"
                        : "the loader returned none when it restarted: use one that has batches on each start, or use "
                          "fewer steps";
}

void TrialLoop::data_ended(bool can_begin_again) {
  in_step_ = false;  // the step had no batch
  cut(trial_steps_ == 0 && batches_ == 0 ? "the loader returned no batch"
                                         : detail::format("the data ended after {} batch{}; {}", batches_,
                                                          batches_ == 1 ? "" : "es", why_no_more(can_begin_again)));
  if (!options_.go_on) { return; }
  report_error_once(
      "trials.untrained",
      "nothing was trained after the trials: they were cut off when the data ended, so this loop ends instead "
      "of training, as do later loops with takt::trials()");
}

/// Reports an empty training, which would look like a quick one.
void TrialLoop::nothing_left(bool can_begin_again) const noexcept {
  const char* cure = "use fewer steps, or set TrialOptions::restore and reset to rewind the loader";
  if (!can_begin_again) {
    cure = "use fewer steps: the loader cannot restart, as its iterators cannot be assigned";
  } else if (restored_) {
    cure = options_.reset
               ? "make TrialOptions::restore put the loader back to its earlier position, or use fewer steps"
               : "make TrialOptions::restore put the loader back to its earlier position, with a reset for a "
                 "single-pass range, or use fewer steps";
  } else if (options_.reset) {
    cure = "make TrialOptions::reset rewind the loader, or use fewer steps";
  }
  report_error_once("trials.untrained", Words("nothing was trained after the trials: they took ", batches_,
                                              batches_ == 1 ? " batch" : " batches",
                                              ", and the loader returned none to the training loop: ", cure));
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

void TrialLoop::end_copy(std::uint64_t started) noexcept { step_.copy_ns += trial_now() - started; }

/// Cuts off the trials: the remaining ones do not run. Complete steps count.
void TrialLoop::cut(const std::string& why) {
  cut_ = detail::format("in {} of {}: {}", name_of_trial(), to_string(plan().kind), why);
  in_step_ = false;
  plans_.resize(at_ + 1);
  if (in_trial_) {
    end_trial();
  } else {
    finish();
  }
}

/// Reports the results before recording resumes, so that the report is in no region.
void TrialLoop::finish() {
  over_ = true;
  if (options_.go_on && cut_.empty() && options_.restore) {
    options_.restore();
    restored_ = true;
  }
  session_.set_trials(std::make_shared<const TrialResults>(results()));
  exclude_no_more();
}

std::string TrialLoop::place_of_kept() const {
  if (kept_.place != nullptr) { return kept_.place; }
  return options_.batch_place;
}

TrialResults TrialLoop::results() const {
  TrialResults results;
  std::array<bool, kTrialKinds> counted = {};
  for (unsigned kind = 0; kind < kTrialKinds; ++kind) {
    const std::vector<Trial>& trials = measured_[kind];
    results.kinds[kind] = rate_of(trials, has_device());
    counted[kind] = !trials.empty() &&
                    std::all_of(trials.begin(), trials.end(), [](const Trial& each) { return each.has_all_items(); });
  }
  count_samples(results, counted);
  results.batch_place = options_.synthetic ? place_of_kept() : "";
  results.waits_by = options_.wait ? "function" : diversion().streams() != 0 ? "streams" : "";
  results.streams = diversion().streams();
  results.failed_waits = failed_waits_;
  results.steps_a_trial = static_cast<std::uint64_t>(options_.steps);
  results.seconds_a_trial =
      session_.run().world_size == 1 ? std::chrono::duration<double>(options_.time_limit).count() : 0.0;
  results.took_ns = static_cast<std::int64_t>(trial_now() - started_ns_);
  results.batches_taken = batches_;
  results.steps_done = steps_;
  results.cut = cut_;
  results.went_on = options_.go_on && cut_.empty();
  results.restored = restored_;
  conclude_trials(results);
  return results;
}

// Trials of a loop: checks of options, and storage of results.
namespace {

constexpr const char* kTrialsFile = "trials.json";

void check_range(const char* name, int value, std::int64_t low, std::int64_t high) {
  if (value >= low && value <= high) { return; }
  throw Error(detail::format("takt: TrialOptions::{} is {}; use {} to {}", name, value, low, high));
}

/// \throws Error for invalid options.
void check_options(const TrialOptions& options) {
  check_range("trials", options.trials, 1, kMaxTrials);
  check_range("warmup", options.warmup, 0, kMaxTrials);
  check_range("steps", options.steps, 1, kMaxTrialSteps);
  check_range("progress_steps", options.progress_steps, 0, kMaxTrialSteps);
  if (options.time_limit.count() < 0 || options.time_limit > std::chrono::seconds(kMaxTrialSeconds)) {
    throw Error(detail::format("takt: TrialOptions::time_limit in seconds is {}; use 0 (no limit) to {}",
                               std::chrono::duration<double>(options.time_limit).count(), kMaxTrialSeconds));
  }
  if (options.items < 0) {
    throw Error(detail::format("takt: TrialOptions::items is {}; use 1 or more, or 0 to take the number from the batch",
                               options.items));
  }
}

}  // namespace

void SessionImpl::set_trials(const std::shared_ptr<const TrialResults>& trials) {
  {
    const std::lock_guard<std::mutex> lock(data_);
    trials_ = trials;
  }
  if (trials->finding) { set_tag("takt.trials", trials->finding->sentence); }
  const QuietSignals quiet;  // this is a thread of the program
  write_file(kTrialsFile, trials_json(run_, *trials));
  if (!trials->cut.empty()) { report_error("trials.cut", "the trials were cut off " + trials->cut); }
  if (trials->went_on && !trials->restored) {
    report_error(
        "trials.moved",
        detail::format("the loop continues after its trials without TrialOptions::save and restore: weights and random "
                       "state have advanced by {} steps, and {} batches were taken from the loader",
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

TrialLoopPointer begin_trials(const Session& session, const TrialOptions& options, bool may_repeat) {
  SessionImpl* const running = running_session();
  const bool is_this = running != nullptr && &running->run() == &session.run();
  if (!options.any() || !is_this || running->is_silent()) { return nullptr; }
  check_options(options);
  if (const auto before = running->trials()) {  // once per process
    return before->went_on ? nullptr : TrialLoopPointer(new TrialLoop(*running));
  }
  TrialOptions wanted = options;
  if (!may_repeat && std::exchange(wanted.synthetic, false)) {
    report_error_once("trials.synthetic",
                      "SYNTHETIC does not run: the program reports that a batch can be used only once");
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
void batch_ended(TrialLoop& loop, bool has_batch, bool can_begin_again) noexcept {
  if (!has_batch) { loop.nothing_left(can_begin_again); }
}
void note_batch(TrialLoop& loop, const BatchFacts& facts, bool kept) noexcept { loop.note_batch(facts, kept); }
std::uint64_t begin_copy(TrialLoop& loop) noexcept { return loop.begin_copy(); }
void end_copy(TrialLoop& loop, std::uint64_t started) noexcept { loop.end_copy(started); }

}  // namespace detail
TAKT_END_NAMESPACE
