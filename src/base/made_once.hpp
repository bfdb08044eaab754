// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <pthread.h>
#include <atomic>
#include <new>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What `kMake` returns, made at the first use and never destroyed, as threads may use it to the very end. It lies in
/// static storage, so that no memory is asked for. Any thread.
/// A child that is forked while another thread makes it makes it again: pthread_once() knows forks. For the guard of a
/// static in a function the child would wait for ever.
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
