// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/other_process.hpp"

#include "base/text.hpp"

#include <algorithm>
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

// Kernels count a process's start in ticks, and file systems stamp files a few ticks late.
constexpr std::int64_t kSlack = 2 * kSecondNs;
constexpr int kFieldOfState = 3;  // field in /proc/<pid>/stat
constexpr int kFieldOfThreads = 20;
constexpr int kFieldOfStart = 22;
constexpr int kFieldOfStack = 28;

std::int64_t now_ns(clockid_t clock) {
  timespec now = {};
  ::clock_gettime(clock, &now);
  return now.tv_sec * kSecondNs + now.tv_nsec;
}

/// Fields of /proc/<pid>/stat.
struct ProcEntry {
  char state = '?';
  std::int64_t threads = 0;
  std::uint64_t start = 0;  // in ticks since boot; 0 if unknown
  std::uint64_t stack = 0;  // address of the stack's start; 0 if unknown, for example for another user's process
};

ProcEntry entry_of(const std::string& process) {
  ProcEntry entry;
  std::ifstream file("/proc/" + process + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::size_t name_end = text.rfind(')');  // the name may contain anything
  if (name_end == std::string::npos) { return entry; }
  std::size_t at = name_end + 1;
  for (int field = kFieldOfState; field <= kFieldOfStack && at != std::string::npos && at + 1 < text.size(); ++field) {
    const char* const value = text.c_str() + at + 1;
    if (field == kFieldOfState) { entry.state = *value; }
    if (field == kFieldOfThreads) { entry.threads = std::strtoll(value, nullptr, 10); }
    if (field == kFieldOfStart) { entry.start = std::strtoull(value, nullptr, 10); }
    if (field == kFieldOfStack) { entry.stack = std::strtoull(value, nullptr, 10); }
    at = text.find(' ', at + 1);
  }
  return entry;
}

std::int64_t begin_unix_ns(const ProcEntry& entry) {
  const auto since_boot = static_cast<std::int64_t>(entry.start) * (kSecondNs / ::sysconf(_SC_CLK_TCK));
  return entry.start == 0 ? 0 : now_ns(CLOCK_REALTIME) - (now_ns(CLOCK_BOOTTIME) - since_boot);
}

/// Returns the first 16 digits of "5f3a0e11-22aa-...".
std::uint64_t boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string text;
  std::getline(file, text);
  text.erase(std::remove(text.begin(), text.end(), '-'), text.end());
  return text.size() < 16 ? 0 : std::strtoull(text.substr(0, 16).c_str(), nullptr, 16);
}

/// Returns true for a process that ended, reaped or not. Zombies are usual in containers whose first process reaps
/// none. A zombie with threads left only ended main(), by pthread_exit().
bool is_dead(const ProcEntry& entry) {
  return entry.state == 'X' || entry.state == 'x' || (entry.state == 'Z' && entry.threads <= 1);
}

}  // namespace

std::optional<std::uint64_t> pid_namespace() noexcept {
  struct stat status = {};
  return ::stat("/proc/self/ns/pid", &status) == 0 ? std::optional<std::uint64_t>(status.st_ino) : std::nullopt;
}

ProcessMark process_mark() noexcept {
  try {
    const ProcEntry entry = entry_of("self");
    const auto known = [](std::uint64_t number) { return number != 0 ? std::optional(number) : std::nullopt; };
    return {known(boot_id()), known(entry.start), known(entry.stack)};
  } catch (...) { return {}; }  // out of memory
}

Life life_of(const std::string& host, std::int64_t pid, std::int64_t heartbeat_unix_ns,
             std::optional<std::uint64_t> pid_namespace, const ProcessMark& mark) {
  char here[HOST_NAME_MAX + 1] = {};
  if (::gethostname(here, HOST_NAME_MAX) != 0 || host != here || pid <= 0) { return Life::unknown; }
  if (pid_namespace && pid_namespace != detail::pid_namespace()) { return Life::unknown; }
  // Machines may share a name: before this boot it may have been another one.
  if (mark.boot && mark.boot != boot_id()) { return Life::unknown; }
  if (::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH) { return Life::gone; }
  const ProcEntry entry = entry_of(std::to_string(pid));
  const bool is_other =
      mark.start && entry.start != 0 ? mark.start != entry.start : begin_unix_ns(entry) > heartbeat_unix_ns + kSlack;
  const bool is_other_program = mark.image && entry.stack != 0 && mark.image != entry.stack;
  return is_dead(entry) || is_other || is_other_program ? Life::gone : Life::alive;
}

}  // namespace detail
TAKT_END_NAMESPACE
