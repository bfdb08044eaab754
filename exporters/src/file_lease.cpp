// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "file_lease.hpp"

#include "file.hpp"
#include "nanoseconds.hpp"
#include "other_process.hpp"

#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdlib>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

std::string this_host() {
  char host[HOST_NAME_MAX + 1] = {};
  if (::gethostname(host, HOST_NAME_MAX) != 0) { host[0] = '?'; }
  return host;
}

/// "<host> <pid> <PID namespace>"; versions before this one do not write, or read, the last.
std::string this_process() {
  return this_host() + " " + std::to_string(::getpid()) + " " + std::to_string(pid_namespace()) + "\n";
}

bool is_same(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

std::string first_bytes(int file) {
  char text[512];
  const ssize_t count = ::pread(file, text, sizeof text, 0);
  return {text, count > 0 ? static_cast<std::size_t>(count) : 0U};
}

}  // namespace

FileLease::~FileLease() {
  if (held()) { ::close(descriptor_); }
}

bool FileLease::take(const std::string& file) {
  file_ = file;
  broken_ = false;
  for (int round = 0; round < 2; ++round) {
    descriptor_ = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (held()) {
      write_all(descriptor_, this_process());
      touched_ = std::chrono::steady_clock::now();
      return true;
    }
    if (errno != EEXIST) {
      problem_ = explain_fault("make", file, errno);
      broken_ = true;
      return false;
    }
    struct stat seen = {};
    if (!is_stale(seen)) { return false; }
    if (!remove(seen)) { break; }
  }
  problem_ = "another process was faster";
  return false;
}

/// Removes the one that was `seen`, and no other: whoever saw it at the same time may have its own in that place by now. Returns
/// whether there is room for a new one.
bool FileLease::remove(const struct stat& seen) const {
  // A name that nobody else takes.
  const std::string aside = file_ + "." + this_host() + "." + std::to_string(::getpid()) + "." +
                            std::to_string(reinterpret_cast<std::uintptr_t>(this));
  if (::rename(file_.c_str(), aside.c_str()) != 0) { return errno == ENOENT; }
  struct stat moved = {};
  // Numbers of files are used again, so that the time counts as well.
  if (::lstat(aside.c_str(), &moved) == 0 && is_same(moved, seen) && moved.st_mtim.tv_sec == seen.st_mtim.tv_sec &&
      moved.st_mtim.tv_nsec == seen.st_mtim.tv_nsec) {
    ::unlink(aside.c_str());
    return true;
  }
  ::rename(aside.c_str(), file_.c_str());
  return false;
}

bool FileLease::is_stale(struct stat& status) {
  const int file = ::open(file_.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (file < 0 || ::fstat(file, &status) != 0) {
    const bool gone = errno == ENOENT;  // given back meanwhile
    if (!gone) {
      problem_ = explain_fault("read", file_, errno);
      broken_ = true;
    }
    if (file >= 0) { ::close(file); }
    return gone;
  }
  const std::string text = first_bytes(file);
  ::close(file);
  const std::size_t blank = text.find(' ');
  const std::string host = text.substr(0, blank);
  char* behind_pid = nullptr;
  const std::int64_t pid = blank == std::string::npos ? 0 : std::strtoll(text.c_str() + blank, &behind_pid, 10);
  const std::uint64_t names = behind_pid == nullptr ? 0 : std::strtoull(behind_pid, nullptr, 10);
  const std::int64_t sign = status.st_mtim.tv_sec * kSecondNs + status.st_mtim.tv_nsec;
  const Life life = life_of(host, pid, sign, names);
  if (life == Life::gone) { return true; }
  timespec now = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const std::int64_t age = now.tv_sec - status.st_mtim.tv_sec;
  if (text.empty()) {  // whose process had no time to write its name, or was killed before
    problem_ = "a process is about to deliver it (" + file_ + "); if it is gone, that counts in " +
               std::to_string(kRefresh.count()) + " s";
    return age > kRefresh.count();
  }
  if (life == Life::unknown && age > kStale.count()) { return true; }
  problem_ = "process " + std::to_string(pid) + " on " + host + " is delivering it (" + file_ + ", touched " +
             std::to_string(age) + " s ago)";
  return false;
}

bool FileLease::is_ours() const {
  struct stat ours = {};
  struct stat named = {};
  return ::fstat(descriptor_, &ours) == 0 && ::lstat(file_.c_str(), &named) == 0 && is_same(ours, named);
}

bool FileLease::refresh() {
  if (!held()) { return false; }
  const auto now = std::chrono::steady_clock::now();
  if (now - touched_ < kRefresh) { return true; }
  if (!is_ours()) {
    problem_ = "another process has taken it over, because this one gave no sign of life";
    ::close(descriptor_);
    descriptor_ = -1;
    return false;
  }
  touched_ = now;
  ::futimens(descriptor_, nullptr);
  return true;
}

void FileLease::release() noexcept {
  if (!held()) { return; }
  if (is_ours()) { ::unlink(file_.c_str()); }
  ::close(descriptor_);
  descriptor_ = -1;
}

}  // namespace detail
TAKT_END_NAMESPACE
