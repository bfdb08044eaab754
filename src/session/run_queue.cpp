// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "session/run_queue.hpp"

#include "base/descriptor.hpp"

#include <sched.h>
#include <cinttypes>
#include <cstdio>

#include <fcntl.h>
#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace detail {

std::int64_t run_queue_ns(std::int64_t thread) noexcept {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%" PRId64 "/schedstat", thread);
  const Descriptor file(::open(path, O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) { return -1; }
  char text[96];
  const ssize_t count = ::read(file.number(), text, sizeof text - 1);
  if (count <= 0) { return -1; }
  text[count] = '\0';
  // "<ns on a processor> <ns in the queue for one> <times>": all 0 where the kernel was built without it.
  std::uint64_t ran = 0;
  std::uint64_t waited = 0;
  std::uint64_t times = 0;
  const int numbers = std::sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &ran, &waited, &times);
  return numbers == 3 && times != 0 ? static_cast<std::int64_t>(waited) : -1;
}

std::int64_t this_thread_number() noexcept { return ::gettid(); }

std::int64_t usable_processors() noexcept {
  cpu_set_t usable;
  CPU_ZERO(&usable);
  // A machine with more than 1 024 needs a larger set.
  return ::sched_getaffinity(0, sizeof usable, &usable) == 0 ? CPU_COUNT(&usable) : 0;
}

}  // namespace detail
TAKT_END_NAMESPACE
