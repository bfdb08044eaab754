// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/detail/kept_batch.hpp>
#include <takt/detail/trial_loop.hpp>

#include <cstddef>
#include <iterator>
#include <type_traits>
#include <utility>

#if TAKT_ENABLED

TAKT_BEGIN_NAMESPACE
namespace detail {

// Finds begin() and end() as a range-based for does.
namespace range_access {
using std::begin;
using std::end;
template <class Range>
auto begin_of(Range& range) -> decltype(begin(range)) {
  return begin(range);
}
template <class Range>
auto end_of(Range& range) -> decltype(end(range)) {
  return end(range);
}
}  // namespace range_access

template <class Iterator, class = void>
struct IsMultiPass : std::false_type {};
template <class Iterator>
struct IsMultiPass<Iterator, std::void_t<typename std::iterator_traits<Iterator>::iterator_category>>
    : std::is_base_of<std::forward_iterator_tag, typename std::iterator_traits<Iterator>::iterator_category> {};

/// The end of the batches.
struct TrialEnd {};

/// The batches of a loader, for a range-based for. Without trials it passes on the results of the loader's own
/// iterators: each step costs a region and three more comparisons of a pointer with 0. Holds an lvalue loader by
/// reference, any other by value. One loop at a time.
template <class Range, bool Synthetic>
class TrialRange {
  using Loader = std::remove_reference_t<Range>;
  using Iterator = decltype(range_access::begin_of(std::declval<Loader&>()));
  using Sentinel = decltype(range_access::end_of(std::declval<Loader&>()));
  using Reference = decltype(*std::declval<Iterator&>());
  using Kept = KeptBatch<Reference>;
  static constexpr bool kCanBeginAgain = std::is_move_assignable_v<Iterator> && std::is_move_assignable_v<Sentinel>;
  static_assert(!Synthetic || Kept::possible,
                "takt: SYNTHETIC repeats one batch, but this loader returns batches by value that cannot be "
                "copied. Return references, specialize takt::BatchTraits<Batch> with again(), or skip "
                "SYNTHETIC: takt::trials(session, loader, takt::no_synthetic)");

 public:
  class Batches {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = std::remove_cv_t<std::remove_reference_t<Reference>>;
    using difference_type = std::ptrdiff_t;
    using reference = Reference;
    using pointer = void;

    Batches(TrialRange& range, TrialRange* trials)
        : wait_(range.options_.time_loader),
          at_(range_access::begin_of(range.loader_)),
          end_(range_access::end_of(range.loader_)),
          trials_(trials) {
      if (trials_ != nullptr) { wait_.end(); }
    }
    Reference operator*() {
      const LoaderWait::End ended(wait_);
      return TAKT_LIKELY(trials_ == nullptr) ? *at_ : trials_->give(*this);
    }
    Batches& operator++() {
      if (TAKT_LIKELY(trials_ == nullptr)) {  // trials advance on request
        wait_.begin();
        ++at_;
      }
      return *this;
    }
    bool operator!=(TrialEnd) {
      if (TAKT_UNLIKELY(trials_ != nullptr)) { return trials_->goes_on(*this); }
      const bool more = at_ != end_;
      if (!more) { wait_.end(); }
      return more;
    }

   private:
    friend class TrialRange;
    LoaderWait wait_;  // from the request for a batch until the loop has it
    Iterator at_;
    Sentinel end_;
    TrialRange* trials_;  // nullptr: a loop without trials
  };

  TrialRange(const Session& session, Range&& loader, TrialOptions options)
      : session_(session), loader_(std::forward<Range>(loader)), options_(std::move(options)) {}

  Batches begin() {
    loop_ = begin_trials(session_, options_, Synthetic);
    return {*this, loop_ == nullptr ? nullptr : this};
  }
  TrialEnd end() const noexcept { return {}; }

 private:
  /// Returns true if the body is to be entered.
  TAKT_NOINLINE bool goes_on(Batches& at) {
    for (;;) {
      const TrialTurn turn = next_turn(*loop_);
      is_kept_ = turn == TrialTurn::again;
      if (turn == TrialTurn::end) { return false; }
      if (turn == TrialTurn::go_on) { return leave(at); }
      if (is_kept_ && has_kept()) { return true; }
      at.wait_.begin();
      if (!advance(at)) {
        at.wait_.end();
        data_ended(*loop_, kCanBeginAgain);
        return false;
      }
      if (turn == TrialTurn::give) { return true; }
      const LoaderWait::End ended(at.wait_);
      if (is_kept_) { return keep(at); }
      auto&& batch = *at.at_;
      note_batch(*loop_, facts_of(batch), false);
    }
  }
  TAKT_NOINLINE Reference give(Batches& at) {
    if constexpr (Synthetic) {
      if (is_kept_) { return kept_.give(*loop_); }
    }
    if constexpr (std::is_reference_v<Reference>) {
      Reference batch = *at.at_;
      note_batch(*loop_, facts_of(batch), false);
      return static_cast<Reference>(batch);
    } else if constexpr (std::is_move_constructible_v<Reference>) {
      Reference batch = *at.at_;
      note_batch(*loop_, facts_of(batch), false);
      return batch;
    } else {
      return *at.at_;
    }
  }
  bool has_kept() const noexcept {
    if constexpr (Synthetic) { return kept_.is_there(); }
    return false;
  }
  bool keep(Batches& at) {
    if constexpr (Synthetic) { note_batch(*loop_, facts_of(kept_.keep(at.at_)), true); }
    return true;
  }
  /// Advances to a new batch. Returns false if the data have ended.
  bool advance(Batches& at) {
    if (std::exchange(has_had_, true)) { ++at.at_; }
    return at.at_ != at.end_ || (begin_again(at) && at.at_ != at.end_);
  }
  bool begin_again(Batches& at) {
    if constexpr (kCanBeginAgain) {
      if (!reset_data(*loop_) && !IsMultiPass<Iterator>::value) { return false; }
      at.at_ = range_access::begin_of(loader_);
      at.end_ = range_access::end_of(loader_);
      begun_again(*loop_);
      return true;
    } else {
      return false;
    }
  }
  /// Ends the trials: the loop continues without them, from the start if possible.
  bool leave(Batches& at) {
    at.wait_.begin();
    if (!begin_again(at) && std::exchange(has_had_, true)) { ++at.at_; }
    at.trials_ = nullptr;
    const bool has_batch = at.at_ != at.end_;
    if (!has_batch) { at.wait_.end(); }
    batch_ended(*loop_, has_batch, kCanBeginAgain);
    loop_.reset();
    return has_batch;
  }

  const Session& session_;
  Range loader_;
  TrialOptions options_;
  TrialLoopPointer loop_;
  std::conditional_t<Synthetic, Kept, TrialEnd> kept_;
  bool has_had_ = false;  // the body, or IO, has had the iterator's current batch
  bool is_kept_ = false;  // the body has the kept batch
};

}  // namespace detail
TAKT_END_NAMESPACE

#endif
