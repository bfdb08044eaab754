// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "mlflow_lease.hpp"

#include "file.hpp"
#include "other_process.hpp"

#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

// Longer than anybody takes from the look at a stale lease to its removal.
constexpr std::chrono::seconds kTogether(1);
constexpr std::int64_t kSecond = 1'000'000'000;

/// "<host> <pid>".
std::string this_process() {
  char host[HOST_NAME_MAX + 1] = {};
  if (::gethostname(host, HOST_NAME_MAX) != 0) { host[0] = '?'; }
  return std::string(host) + " " + std::to_string(::getpid()) + "\n";
}

std::string first_bytes(int file) {
  char text[512];
  const ssize_t count = ::pread(file, text, sizeof text, 0);
  return {text, count > 0 ? static_cast<std::size_t>(count) : 0U};
}

}  // namespace

MlflowLease::~MlflowLease() {
  if (held()) { ::close(descriptor_); }
}

bool MlflowLease::take(const std::string& file) {
  file_ = file;
  for (int round = 0; round < 2; ++round) {
    descriptor_ = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (held()) {
      write_all(descriptor_, this_process());
      touched_ = std::chrono::steady_clock::now();
      if (round == 0) { return true; }
      // Whoever looked at the stale one at the same time may have removed this one in its stead.
      std::this_thread::sleep_for(kTogether);
      if (is_ours()) { return true; }
      ::close(descriptor_);
      descriptor_ = -1;
      break;
    }
    if (errno != EEXIST) {
      problem_ = explain_fault("make", file, errno);
      return false;
    }
    if (!is_stale()) { return false; }
    ::unlink(file.c_str());
  }
  problem_ = "another process was faster";
  return false;
}

bool MlflowLease::is_stale() {
  const int file = ::open(file_.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  struct stat status = {};
  if (file < 0 || ::fstat(file, &status) != 0) {
    const bool gone = errno == ENOENT;  // given back meanwhile
    if (!gone) { problem_ = explain_fault("read", file_, errno); }
    if (file >= 0) { ::close(file); }
    return gone;
  }
  const std::string text = first_bytes(file);
  ::close(file);
  const std::size_t blank = text.find(' ');
  const std::string host = text.substr(0, blank);
  const std::int64_t pid = blank == std::string::npos ? 0 : std::strtoll(text.c_str() + blank, nullptr, 10);
  const std::int64_t sign = status.st_mtim.tv_sec * kSecond + status.st_mtim.tv_nsec;
  const Life life = life_of(host, pid, sign);
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

bool MlflowLease::is_ours() const {
  struct stat ours = {};
  struct stat named = {};
  return ::fstat(descriptor_, &ours) == 0 && ::lstat(file_.c_str(), &named) == 0 && ours.st_dev == named.st_dev &&
         ours.st_ino == named.st_ino;
}

bool MlflowLease::refresh() {
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

void MlflowLease::release() noexcept {
  if (!held()) { return; }
  if (is_ours()) { ::unlink(file_.c_str()); }
  ::close(descriptor_);
  descriptor_ = -1;
}

}  // namespace detail
TAKT_END_NAMESPACE
