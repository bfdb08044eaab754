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

/// Calls `work` with `argument` on a detached thread that receives no signals and, if this thread may use several
/// cores, avoids its current one.
/// \param name at most 15 characters.
/// \param work must not throw. Returns false if no thread can be created. Needs no memory of its own.
bool start_background(const char* name, void (*work)(void*), void* argument) noexcept;

/// Returns true if the main thread ended by pthread_exit() and only these threads are left: without Takt the process
/// would have ended. Reads /proc once.
bool alone_in_process() noexcept;

/// Returns the CPU time that these threads have used, in ns. Threads beyond 64 at a time count only once they end. Any
/// thread.
std::int64_t background_cpu_ns() noexcept;

/// Resets a forked child, which has none of these threads.
void background_after_fork() noexcept;

/// Blocks SIGPIPE (no reader left) and SIGXFSZ (file size limit) in this thread, so that a write fails instead of
/// ending the program. The destructor discards the signals raised meanwhile. Keeps errno.
class QuietSignals {
 public:
  QuietSignals() noexcept {
    sigemptyset(&ours_);
    sigaddset(&ours_, SIGPIPE);
    sigaddset(&ours_, SIGXFSZ);
    sigset_t pending;
    sigpending(&pending);
    // A signal that was pending before belongs to the program and stays.
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

/// Returns the one object that `kMake` made on the first call. It is in static storage, so it needs no memory, and is
/// never destroyed because threads may use it until the process ends. Any thread. Throws what `kMake` throws. If the
/// process forks while another thread makes the object, the child makes it again: pthread_once() handles forks, while
/// the guard of a function-local static would stay locked in the child.
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

/// Lock for adding to data that a process keeps forever: keys, metric names, listeners. One lock suffices because
/// additions are rare and short. It is unlocked in a forked child, where its owner may not exist.
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
