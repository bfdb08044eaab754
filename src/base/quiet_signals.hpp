// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>
#include <takt/detail/not_cancelled.hpp>

#include <signal.h>
#include <cerrno>

TAKT_BEGIN_NAMESPACE
namespace detail {

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

}  // namespace detail
TAKT_END_NAMESPACE
