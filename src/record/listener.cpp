// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/listener.hpp>

#include "base/threads.hpp"
#include "record/listeners.hpp"

#include <takt/detail/hot.hpp>

#include <atomic>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr unsigned kMaxListeners = 8;

// A slot keeps its listener forever: an open region may still report its end after the listener was removed.
struct Slot {
  Listener listener;
  std::atomic<bool> begins{false};
};
Slot g_slots[kMaxListeners];
std::atomic<unsigned> g_used{0};

bool is_same_listener(unsigned slot, const Listener& listener) noexcept {
  const Listener& its = g_slots[slot].listener;
  return its.begin == listener.begin && its.end == listener.end && its.context == listener.context;
}

}  // namespace

unsigned report_begin(const Key& key) noexcept {
  unsigned reported = 0;
  for (unsigned slot = 0; slot < g_used.load(std::memory_order_acquire); ++slot) {  // pairs with add_listener()
    if (!g_slots[slot].begins.load(std::memory_order_acquire)) { continue; }        // pairs with add_listener()
    reported |= 1U << slot;
    if (g_slots[slot].listener.begin != nullptr) { g_slots[slot].listener.begin(key, g_slots[slot].listener.context); }
  }
  return reported;
}

void report_end(unsigned reported, const Key& key) noexcept {
  for (unsigned slot = kMaxListeners; slot-- > 0;) {
    if ((reported >> slot & 1U) != 0 && g_slots[slot].listener.end != nullptr) {
      g_slots[slot].listener.end(key, g_slots[slot].listener.context);
    }
  }
}

}  // namespace detail

bool add_listener(const Listener& listener) noexcept {
  const detail::RegistrationLock lock;
  const unsigned used = detail::g_used.load(std::memory_order_relaxed);
  unsigned slot = 0;
  while (slot < used &&
         (detail::g_slots[slot].begins.load(std::memory_order_relaxed) || !detail::is_same_listener(slot, listener))) {
    ++slot;
  }
  if (slot == detail::kMaxListeners) { return false; }
  if (slot == used) { detail::g_slots[slot].listener = listener; }
  detail::g_slots[slot].begins.store(true, std::memory_order_release);  // pairs with report_begin(), like the next
  if (slot == used) { detail::g_used.store(slot + 1, std::memory_order_release); }
  // Pairs with nothing: the mode is loaded relaxed, so a region may begin before its thread sees the listener.
  detail::mode().fetch_or(detail::kModeListening, std::memory_order_release);
  return true;
}

void remove_listener(const Listener& listener) noexcept {
  const detail::RegistrationLock lock;
  bool any = false;
  for (unsigned slot = 0; slot < detail::g_used.load(std::memory_order_relaxed); ++slot) {
    // Release: pairs with report_begin().
    if (detail::is_same_listener(slot, listener)) {
      detail::g_slots[slot].begins.store(false, std::memory_order_release);
    }
    any = any || detail::g_slots[slot].begins.load(std::memory_order_relaxed);
  }
  if (!any) {  // pairs with nothing, as in add_listener()
    detail::mode().fetch_and(~static_cast<std::uint32_t>(detail::kModeListening), std::memory_order_release);
  }
}

TAKT_END_NAMESPACE
