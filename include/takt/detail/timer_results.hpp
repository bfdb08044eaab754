// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/detail/backend_traits.hpp>
#include <takt/detail/drain.hpp>
#include <takt/detail/timed_key.hpp>

#include <atomic>
#include <cstdint>
#include <type_traits>

#include <takt/detail/macros_begin.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// The regions of one thread of which a Timer does not know the result yet: a ring, which that thread fills. The thread
/// that holds `busy_` empties it.
class TimerResults {
 public:
  static constexpr std::uint32_t kMost = 1024;

  /// A duration that is known already has `ready_ns` instead of marks; it waits for its turn.
  struct Span {
    Mark begin = 0;
    Mark end = 0;
    TimedKey* key = nullptr;  // nullptr: settled
    std::uint64_t ready_ns = 0;
    bool ready = false;
  };

  /// Owner: takes over the marks of `span`. False, and nothing done, where there is no room or no key.
  /// \param lost counts results that will never come.
  template <class B>
  bool keep(B& backend, const Span& span, std::atomic<std::uint64_t>& lost) noexcept {
    if (span.key == nullptr) { return false; }
    if (!has_room()) { poll(backend, false, lost); }  // the ends before need not have asked
    if (!has_room()) { return false; }
    const std::uint32_t tail = tail_.load(std::memory_order_relaxed);
    span_[tail % kMost] = span;
    unsettled_.fetch_add(1, std::memory_order_relaxed);
    tail_.store(tail + 1, std::memory_order_release);  // pairs with the acquire in poll()
    return true;
  }
  /// Takes in results that are ready: the oldest ones, and with `all` every one. Does nothing where another thread is
  /// taking them in.
  template <class B>
  void poll(B& backend, bool all, std::atomic<std::uint64_t>& lost) noexcept;
  /// Owner, at the end of a region: asks for results. After an answer with nothing new it does not ask at the next
  /// ends.
  template <class B>
  void poll_in_passing(B& backend, std::atomic<std::uint64_t>& lost) noexcept {
    if (patience_.is_over()) { poll(backend, false, lost); }
  }
  /// Gives back the marks of what has no result. Nobody else uses this any more.
  template <class B>
  void give_up(B& backend) noexcept {
    for (std::uint32_t at = head_.load(); at != tail_.load(); ++at) {
      Span& span = span_[at % kMost];
      if (span.key != nullptr && !span.ready) { release(backend, span); }
    }
  }
  /// Any thread. What it no longer counts can be read (pairs with the release in settle()).
  std::uint32_t pending() const noexcept { return unsettled_.load(std::memory_order_acquire); }

 private:
  struct NoQuestions {};
  // Of the backend's, whose header brings the type.
  template <class B>
  using QuestionsOf = std::conditional_t<BackendTraits<B>::has_questions, Questions, NoQuestions>;

  bool has_room() const noexcept {
    // Pairs with the release in poll(), after which a place may be written again.
    return tail_.load(std::memory_order_relaxed) - head_.load(std::memory_order_acquire) < kMost;
  }
  template <class B>
  static void release(B& backend, const Span& span) noexcept {
    backend.release(span.begin);
    backend.release(span.end);
  }
  template <class B>
  bool settle(B& backend, Span& span, QuestionsOf<B>& questions, std::atomic<std::uint64_t>& lost) noexcept;

  Patience patience_;
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
  std::atomic<std::uint32_t> head_{0};
  std::atomic<std::uint32_t> tail_{0};
  std::atomic<std::uint32_t> unsettled_{0};
  Span span_[kMost];
};

template <class B>
bool TimerResults::settle(B& backend, Span& span, QuestionsOf<B>& questions,
                          std::atomic<std::uint64_t>& lost) noexcept {
  if (span.key == nullptr) { return true; }
  Elapsed result = Elapsed::ready(static_cast<std::int64_t>(span.ready_ns));
  if constexpr (BackendTraits<B>::has_questions) {
    if (!span.ready) { result = backend.elapsed(span.begin, span.end, questions); }
  } else {
    static_cast<void>(questions);
    if (!span.ready) { result = backend.elapsed(span.begin, span.end); }
  }
  if (result.state == Elapsed::State::pending) { return false; }
  if (result.state == Elapsed::State::ready) {
    span.key->add(static_cast<std::uint64_t>(result.ns < 0 ? 0 : result.ns), true);
  } else if (result.state == Elapsed::State::failed) {
    lost.fetch_add(1, std::memory_order_relaxed);
  }
  if (!span.ready) { release(backend, span); }
  span.key = nullptr;
  unsettled_.fetch_sub(1, std::memory_order_release);  // pairs with the acquire in pending()
  return true;
}

template <class B>
void TimerResults::poll(B& backend, bool all, std::atomic<std::uint64_t>& lost) noexcept {
  // Pairs with clear() below, of whoever was here before.
  if (busy_.test_and_set(std::memory_order_acquire)) { return; }
  std::uint32_t head = head_.load(std::memory_order_relaxed);
  const std::uint32_t tail = tail_.load(std::memory_order_acquire);  // pairs with the release in keep()
  const std::uint32_t before = unsettled_.load(std::memory_order_relaxed);
  QuestionsOf<B> questions;
  const auto look = [&](std::uint32_t at) { return settle(backend, span_[at % kMost], questions, lost); };
  std::uint32_t last = 0;
  do {
    last = head;
    head = drain(head, tail, look);
  } while (all && head != last);
  if (all && !BackendTraits<B>::in_order) {
    for (std::uint32_t at = head; at != tail; ++at) { look(at); }
    while (head != tail && span_[head % kMost].key == nullptr) { ++head; }
  }
  if constexpr (BackendTraits<B>::has_questions) { backend.end_questions(questions); }
  patience_.polled(before, unsettled_.load(std::memory_order_relaxed));
  head_.store(head, std::memory_order_release);  // pairs with the acquire in has_room()
  busy_.clear(std::memory_order_release);        // pairs with test_and_set() above
}

}  // namespace detail
TAKT_END_NAMESPACE

#include <takt/detail/macros_end.hpp>
