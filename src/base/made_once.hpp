// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <pthread.h>
#include <atomic>
#include <new>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Returns the one object that `kMake` made at the first call. It is in static storage, so it needs no memory, and is
/// never destroyed, because threads may use it until the process ends. Any thread. Throws what `kMake` throws.
/// If the process forks while another thread makes the object, the child makes it again: pthread_once() handles forks.
/// A static in a function has a guard that would stay locked in the child.
template <auto kMake>
auto& made_once() noexcept(noexcept(kMake())) {
  using Made = decltype(kMake());
  alignas(Made) static unsigned char memory[sizeof(Made)];
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  static std::atomic<bool> is_made{false};
  if (!is_made.load(std::memory_order_acquire)) {  // pairs with the store below
    pthread_once(&once, [] {
      ::new (static_cast<void*>(memory)) Made(kMake());
      is_made.store(true, std::memory_order_release);  // pairs with the load above
    });
  }
  return *std::launder(reinterpret_cast<Made*>(memory));
}

}  // namespace detail
TAKT_END_NAMESPACE
