// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/detail/kept_batch.hpp>
#include <takt/detail/trial_loop.hpp>

#include <memory>
#include <type_traits>
#include <utility>

#if TAKT_ENABLED

TAKT_BEGIN_NAMESPACE
namespace detail {

/// The batches of a loop that pulls them. Without trials each step costs a region and one more comparison. One thread;
/// must outlive the loop.
template <bool Synthetic>
class TrialPull {
 public:
  TrialPull(const Session& session, TrialOptions options) : session_(session), options_(std::move(options)) {}
  TrialPull(const TrialPull&) = delete;
  TrialPull& operator=(const TrialPull&) = delete;

  /// Returns the result of `pull`: a value that is false if the data have ended, such as an optional, a pointer or a
  /// bool.
  template <class Pull>
  std::invoke_result_t<Pull&> next(Pull&& pull) {
    return TAKT_LIKELY(is_plain_) ? pull_timed(pull) : next_in_trials(pull);
  }

 private:
  template <class Pull>
  std::invoke_result_t<Pull&> pull_timed(Pull& pull) {
    const LoaderWait wait(options_.time_loader);
    return pull();
  }
  template <class Pull>
  TAKT_NOINLINE std::invoke_result_t<Pull&> next_in_trials(Pull& pull) {
    using Result = std::invoke_result_t<Pull&>;
    static_assert(std::is_object_v<Result> && std::is_default_constructible_v<Result>,
                  "takt: the pull function must return a value that is false at the end of the data, such as an "
                  "optional, a pointer or a bool");
    static_assert(!Synthetic || can_be_again<Result>,
                  "takt: SYNTHETIC repeats one batch, but the pulled value cannot be copied. Pull a pointer, "
                  "specialize takt::BatchTraits with again(), or skip SYNTHETIC: takt::trials(session, "
                  "takt::no_synthetic)");
    if (loop_ == nullptr) { loop_ = begin_trials(session_, options_, Synthetic); }
    if (loop_ == nullptr) {
      is_plain_ = true;
      return pull_timed(pull);
    }
    for (;;) {
      const TrialTurn turn = next_turn(*loop_);
      if (turn == TrialTurn::end) { return Result(); }
      if (turn == TrialTurn::go_on) { return leave(pull); }
      if constexpr (Synthetic) {
        if (turn == TrialTurn::again) { return again<Result>(pull); }
      }
      Result batch = take<Result>(pull);
      if (!batch || turn == TrialTurn::give) { return batch; }
    }
  }
  template <class Result, class Pull>
  Result take(Pull& pull) {
    Result batch = pull_again<Result>(pull);
    if (batch) { note_batch(*loop_, facts_of(batch), false); }
    return batch;
  }
  /// Pulls again from restarted data, if possible; otherwise ends the trials.
  template <class Result, class Pull>
  Result pull_again(Pull& pull) {
    Result batch = pull_timed(pull);
    if (!batch && reset_data(*loop_)) {
      begun_again(*loop_);
      batch = pull_timed(pull);
    }
    if (!batch) { data_ended(*loop_, true); }
    return batch;
  }
  /// Returns the kept batch. One per pulled type.
  template <class Result, class Pull>
  Result again(Pull& pull) {
    static constexpr char kType = 0;
    if (kept_type_ != &kType) {
      Result batch = pull_again<Result>(pull);
      if (!batch) { return batch; }
      kept_ = std::make_shared<Result>(std::move(batch));
      kept_type_ = &kType;
      note_batch(*loop_, facts_of(*static_cast<const Result*>(kept_.get())), true);
    }
    const TrialCopy timed(*loop_);
    return again_of(*static_cast<const Result*>(kept_.get()));
  }
  template <class Pull>
  std::invoke_result_t<Pull&> leave(Pull& pull) {
    reset_data(*loop_);
    is_plain_ = true;
    kept_.reset();
    const TrialLoopPointer loop = std::move(loop_);
    std::invoke_result_t<Pull&> batch = pull_timed(pull);
    batch_ended(*loop, static_cast<bool>(batch), true);
    return batch;
  }

  const Session& session_;
  const TrialOptions options_;
  TrialLoopPointer loop_;
  std::shared_ptr<void> kept_;
  const void* kept_type_ = nullptr;
  bool is_plain_ = false;
};

}  // namespace detail
TAKT_END_NAMESPACE

#endif
