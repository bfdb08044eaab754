// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <time.h>

// As in <pthread.h>, which takt.hpp should not include.
extern "C" int pthread_setcancelstate(int state, int* before);

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Defers pthread_cancel() of this thread during its lifetime. Writes and waits are cancellation points; cancellation
/// unwinds, which in a noexcept function terminates the program.
class NotCancelled {
 public:
  NotCancelled() noexcept { pthread_setcancelstate(kDisable, &before_); }
  ~NotCancelled() {
    int now = 0;
    pthread_setcancelstate(before_, &now);
  }
  NotCancelled(const NotCancelled&) = delete;
  NotCancelled& operator=(const NotCancelled&) = delete;

  static constexpr int kDisable = 1;  ///< PTHREAD_CANCEL_DISABLE

 private:
  int before_ = 0;
};

/// Sleeps for some microseconds, so that other threads run. For waiting threads, never for recording ones.
inline void rest() noexcept {
  const NotCancelled whole;
  const timespec brief{0, 20'000};
  nanosleep(&brief, nullptr);
}

}  // namespace detail
TAKT_END_NAMESPACE
