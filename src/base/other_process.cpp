// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/other_process.hpp"

#include "base/nanoseconds.hpp"

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>

#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

// Kernels count the start of a process in ticks, and file systems stamp files some ticks late.
constexpr std::int64_t kSlack = 2 * kSecondNs;
constexpr int kFieldOfState = 3;  // of /proc/<pid>/stat
constexpr int kFieldOfThreads = 20;
constexpr int kFieldOfStart = 22;

std::int64_t now_ns(clockid_t clock) {
  timespec now = {};
  ::clock_gettime(clock, &now);
  return now.tv_sec * kSecondNs + now.tv_nsec;
}

/// What /proc says of a process.
struct ProcEntry {
  char state = '?';
  std::int64_t threads = 0;
  std::int64_t begin_unix_ns = 0;  // 0 where it cannot be told
};

ProcEntry entry_of(std::int64_t pid) {
  ProcEntry entry;
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::size_t name_end = text.rfind(')');  // the name may hold anything
  if (name_end == std::string::npos) { return entry; }
  std::size_t at = name_end + 1;
  for (int field = kFieldOfState; at != std::string::npos && at + 1 < text.size(); ++field) {
    const char* const value = text.c_str() + at + 1;
    if (field == kFieldOfState) { entry.state = *value; }
    if (field == kFieldOfThreads) { entry.threads = std::strtoll(value, nullptr, 10); }
    if (field == kFieldOfStart) {
      const std::int64_t since_boot = std::strtoll(value, nullptr, 10) * (kSecondNs / ::sysconf(_SC_CLK_TCK));
      entry.begin_unix_ns = now_ns(CLOCK_REALTIME) - (now_ns(CLOCK_BOOTTIME) - since_boot);
      break;
    }
    at = text.find(' ', at + 1);
  }
  return entry;
}

/// It has ended, and nobody has asked how: usual in containers, whose first process waits for nobody. Where threads are
/// left, it was only main() that ended, by pthread_exit.
bool is_dead(const ProcEntry& entry) {
  return entry.state == 'X' || entry.state == 'x' || (entry.state == 'Z' && entry.threads <= 1);
}

}  // namespace

std::uint64_t pid_namespace() noexcept {
  struct stat status = {};
  return ::stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

Life life_of(const std::string& host, std::int64_t pid, std::int64_t sign_unix_ns, std::uint64_t pid_namespace) {
  char here[HOST_NAME_MAX + 1] = {};
  if (::gethostname(here, HOST_NAME_MAX) != 0 || host != here || pid <= 0) { return Life::unknown; }
  if (pid_namespace != 0 && pid_namespace != detail::pid_namespace()) { return Life::unknown; }
  if (::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH) { return Life::gone; }
  const ProcEntry entry = entry_of(pid);
  return is_dead(entry) || entry.begin_unix_ns > sign_unix_ns + kSlack ? Life::gone : Life::alive;
}

}  // namespace detail
TAKT_END_NAMESPACE
