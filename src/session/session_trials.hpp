// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "measure/trial_rate.hpp"

#include <takt/detail/trial_loop.hpp>
#include <takt/trial_results.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

class SessionImpl;

inline constexpr std::int64_t kMaxTrialSteps = 100'000;
inline constexpr std::int64_t kMaxTrialSeconds = 86'400;
inline constexpr std::int64_t kMaxTrials = 100;  // of a kind: Takt keeps 32 bytes for each of their steps

/// Trials of one loop: selects the trial, times its steps, and keeps the results. Recorded data is excluded from the
/// run's statistics from start to end. One thread.
class TrialLoop {
 public:
  /// REQUIRES: a kind is wanted.
  TrialLoop(SessionImpl& session, const TrialOptions& options);
  /// Makes an object that ends at once: the trials of the process are over.
  explicit TrialLoop(SessionImpl& session) noexcept : session_(session), over_(true) {}
  /// Cuts off unfinished trials.
  ~TrialLoop();
  TrialLoop(const TrialLoop&) = delete;
  TrialLoop& operator=(const TrialLoop&) = delete;

  /// Returns false if other trials run in the process.
  bool begin();
  TrialTurn next();
  bool reset();
  void begun_again() noexcept;
  void data_ended(bool can_begin_again);
  void nothing_left(bool can_begin_again) const noexcept;
  void note_batch(const BatchFacts& facts, bool kept) noexcept;
  std::uint64_t begin_copy() noexcept;
  void end_copy(std::uint64_t started) noexcept;

 private:
  struct Plan {
    TrialKind kind;
    unsigned number;  ///< 0: warm-up
  };

  void begin_trial();
  void end_step(std::uint64_t now_ns) noexcept;
  void print_progress() const;
  std::string name_of_trial() const;
  bool has_device() const noexcept;
  bool is_trial_over(std::uint64_t now_ns) const noexcept;
  void end_trial();
  bool wait();
  const char* why_no_more(bool can_begin_again) const noexcept;
  void cut(const std::string& why);
  void finish();
  void exclude_no_more() noexcept;
  TrialResults results() const;
  std::string place_of_kept() const;
  const Plan& plan() const noexcept { return plans_[at_]; }
  bool is_measured() const noexcept { return plan().number != 0; }

  SessionImpl& session_;
  const TrialOptions options_;
  std::vector<Plan> plans_;
  std::size_t at_ = 0;
  bool over_ = false;
  bool excluded_ = false;
  bool in_trial_ = false;
  bool in_step_ = false;
  std::uint64_t started_ns_ = 0;  // start of all trials
  std::uint64_t trial_ns_ = 0;    // start of this trial
  std::uint64_t step_ns_ = 0;     // start of this step
  std::uint64_t items_before_ = 0;
  std::int64_t full_steps_ = 0;  // measured steps so far
  std::uint64_t trial_steps_ = 0;
  TrialStep step_;
  Trial trial_;
  std::array<std::vector<Trial>, kTrialKinds> measured_;
  unsigned reported_ = 0;  // listeners reported in this trial
  BatchFacts kept_;
  std::uint64_t batches_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t failed_waits_ = 0;
  std::string cut_;
  bool restored_ = false;
};

/// Clock of trials: that of the process, unless a test replaces it.
using TrialClock = std::uint64_t (*)() noexcept;
extern std::atomic<TrialClock> trial_clock;

/// Names of the variables of TrialOptions.
std::vector<std::string_view> trial_variable_names();

}  // namespace detail
TAKT_END_NAMESPACE
