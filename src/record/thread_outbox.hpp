// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "record/outbox.hpp"
#include "record/shared.hpp"

#include <atomic>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// The outbox of one thread, made when it has its first record. One thread, but for get().
class ThreadOutbox {
 public:
  /// \param shared outlives it.
  explicit ThreadOutbox(Shared& shared) noexcept : shared_(shared) {}
  ~ThreadOutbox() { drop(); }
  ThreadOutbox(const ThreadOutbox&) = delete;
  ThreadOutbox& operator=(const ThreadOutbox&) = delete;

  /// nullptr while there is none. Any thread; acquire, pairs with the release in make().
  Outbox* get() const noexcept { return outbox_.load(std::memory_order_acquire); }
  /// Makes one at need; nullptr where there is no room.
  TAKT_ALWAYS_INLINE Outbox* need() noexcept {
    Outbox* const box = get();
    return TAKT_LIKELY(box != nullptr) ? box : make();
  }
  /// Behind a row or a metric: where memory for them fills up, the collector comes before its time.
  void ask_for_collection(Outbox& box) noexcept {
    if (TAKT_UNLIKELY(box.take_grown())) { shared_.ask_for_collection(); }
  }
  /// Gives it up, with what is in it: no thread reads it any more.
  void drop() noexcept { delete outbox_.exchange(nullptr, std::memory_order_relaxed); }

 private:
  Outbox* make() noexcept;

  Shared& shared_;
  std::atomic<Outbox*> outbox_{nullptr};
};

}  // namespace detail
TAKT_END_NAMESPACE
