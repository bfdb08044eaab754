// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/backends/detail/anchor_chain.hpp>
#include <takt/backends/detail/event_api.hpp>
#include <takt/backends/detail/event_pool.hpp>
#include <takt/backends/detail/stream_progress.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <new>

#include <takt/detail/macros_begin.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

template <class Api>
auto described_context(EventContextId id, int) noexcept -> decltype(Api::describe(id), EventContextId()) {
  Api::describe(id);
  return id;
}
template <class Api>
EventContextId described_context(const EventContextId& id, long) noexcept {
  return id;
}

/// The books of one context: its events, its streams, its time line. Never destroyed.
template <class Api>
struct EventContext {
  using Pool = EventPool<typename Api::Event>;

  explicit EventContext(const EventContextId& which) noexcept : id(which) {}
  const EventContextId id;
  std::atomic<bool> lost{false};
  std::atomic<bool> growing{false};
  Pool events;
  StreamTable streams;
  AnchorChain<Api> anchors;
};

/// Those of a process. Any thread; no locks.
template <class Api>
class EventContexts {
 public:
  using Context = EventContext<Api>;
  static constexpr unsigned kMost = 64;

  /// The books of a context, made at its first mark; nullptr beyond the bound.
  Context* find(const EventContextId& id) noexcept {
    for (auto& place : contexts_) {
      Context* there = place.load(std::memory_order_acquire);  // pairs with the exchange below
      if (there == nullptr) {
        auto* fresh = new (std::nothrow) Context(described_context<Api>(id, 0));
        if (fresh == nullptr) { return nullptr; }
        // Pairs with all who load from contexts_.
        if (place.compare_exchange_strong(there, fresh, std::memory_order_acq_rel)) { return fresh; }
        delete fresh;
      }
      if (there->id == id) { return there; }
      // The same place with another number: that context has been reset, and its events are not to be asked about.
      if (there->id.handle == id.handle) { there->lost.store(true, std::memory_order_relaxed); }
    }
    return nullptr;
  }

  /// How many there are, and those of them that are lost.
  unsigned count(unsigned& lost) const noexcept {
    unsigned contexts = 0;
    lost = 0;
    for (const auto& place : contexts_) {
      const Context* context = place.load(std::memory_order_acquire);  // pairs with find()
      if (context == nullptr) { break; }
      ++contexts;
      lost += context->lost.load(std::memory_order_relaxed) ? 1 : 0;
    }
    return contexts;
  }
  /// Of all pools.
  std::uint32_t sum(std::uint32_t (Context::Pool::*what)() const noexcept) const noexcept {
    std::uint32_t total = 0;
    for (const auto& place : contexts_) {
      // Pairs with find().
      if (const Context* context = place.load(std::memory_order_acquire)) { total += (context->events.*what)(); }
    }
    return total;
  }

 private:
  std::array<std::atomic<Context*>, kMost> contexts_{};
};

}  // namespace detail
TAKT_END_NAMESPACE

#include <takt/detail/macros_end.hpp>
