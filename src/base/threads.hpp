// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>
#include <takt/detail/not_cancelled.hpp>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <new>

#include <pthread.h>
#include <signal.h>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Calls `work` with `argument` on a detached thread that receives no signals and, where this thread may run on several
/// cores, stays off the one it runs on now. \param name at most 15 characters. \param work must not throw. Returns
/// false where no thread can be had. Needs no memory of its own.
bool start_background(const char* name, void (*work)(void*), void* argument) noexcept;

/// Whether the main thread has ended by pthread_exit(), and every other thread that is left is one of these: without
/// Takt the process would have ended. Reads /proc once.
bool alone_in_process() noexcept;

/// Processor time that these threads have used so far, in ns; those beyond 64 at a time only once they have ended. Any
/// thread.
std::int64_t background_cpu_ns() noexcept;

/// For the child after a fork, which has none of these threads.
void background_after_fork() noexcept;

/// While it lives, a write of this thread cannot end the program by SIGPIPE (nobody reads any more) or SIGXFSZ (a file
/// at its limit): it fails instead. Blocks both, and on the way out takes back what was raised meanwhile. Keeps errno.
class QuietSignals {
 public:
  QuietSignals() noexcept {
    sigemptyset(&ours_);
    sigaddset(&ours_, SIGPIPE);
    sigaddset(&ours_, SIGXFSZ);
    sigset_t pending;
    sigpending(&pending);
    // One that was pending before is the program's own and stays.
    if (sigismember(&pending, SIGPIPE) == 1) { sigdelset(&ours_, SIGPIPE); }
    if (sigismember(&pending, SIGXFSZ) == 1) { sigdelset(&ours_, SIGXFSZ); }
    pthread_sigmask(SIG_BLOCK, &ours_, &before_);
  }
  ~QuietSignals() {
    const NotCancelled whole;
    const int error = errno;
    const timespec at_once = {};
    while (sigtimedwait(&ours_, nullptr, &at_once) > 0 || errno == EINTR) {}
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }
  QuietSignals(const QuietSignals&) = delete;
  QuietSignals& operator=(const QuietSignals&) = delete;

 private:
  sigset_t ours_;
  sigset_t before_;
};

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

/// Held by who adds to what a process keeps for ever: its keys, names of metrics, listeners. One for all, as that is
/// seldom, and held for no longer than that takes. In a child of a fork it is free: who held it may not exist there.
class RegistrationLock {
 public:
  RegistrationLock() noexcept;
  ~RegistrationLock();
  RegistrationLock(const RegistrationLock&) = delete;
  RegistrationLock& operator=(const RegistrationLock&) = delete;

  static void after_fork() noexcept;
};

}  // namespace detail
TAKT_END_NAMESPACE
