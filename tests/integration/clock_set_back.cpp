// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Preloaded, it sets the real-time clock back by an hour after the process has read it. Each reading appends a byte to
// the file CLOCK_SIGN.
#include <atomic>
#include <cstdlib>

#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

extern "C" int clock_gettime(clockid_t clock, timespec* time) {
  static std::atomic<int> readings{0};
  const int status = static_cast<int>(::syscall(SYS_clock_gettime, clock, time));
  const char* const name = std::getenv("CLOCK_SIGN");
  if (clock != CLOCK_REALTIME || name == nullptr) { return status; }
  const int sign = ::open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (sign < 0 || ::write(sign, "x", 1) != 1) { std::abort(); }
  ::close(sign);
  if (readings++ != 0) { time->tv_sec -= 3600; }
  return status;
}
