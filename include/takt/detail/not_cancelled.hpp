// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <time.h>

// As in <pthread.h>, all of which would otherwise come with takt.hpp.
extern "C" int pthread_setcancelstate(int state, int* before);

TAKT_BEGIN_NAMESPACE
namespace detail {

/// While it lives, pthread_cancel() of this thread waits: a write or a wait in here is a place where it could be
/// carried out, by unwinding, which a function that cannot throw turns into the end of the program.
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

/// Lets others run for some microseconds. For who waits, never for who records.
inline void rest() noexcept {
  const NotCancelled whole;
  const timespec brief{0, 20'000};
  nanosleep(&brief, nullptr);
}

}  // namespace detail
TAKT_END_NAMESPACE
