// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <pthread.h>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// While it lives, pthread_cancel() of this thread waits: a write or a wait in here is a place where it could be
/// carried out, by unwinding, which a function that cannot throw turns into the end of the program.
class NotCancelled {
 public:
  NotCancelled() noexcept { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~NotCancelled() {
    int now = 0;
    pthread_setcancelstate(before_, &now);
  }
  NotCancelled(const NotCancelled&) = delete;
  NotCancelled& operator=(const NotCancelled&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace detail
TAKT_END_NAMESPACE
