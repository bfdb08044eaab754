// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <utility>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace support {

/// A forked process that runs `work`, a callable that returns a string, and exits without running destructors.
class Child {
 public:
  template <class Work>
  explicit Child(Work&& work) {
    int ends[2];
    if (::pipe(ends) != 0) { return; }
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::close(ends[0]);
      const std::string result = std::forward<Work>(work)();
      ::_exit(::write(ends[1], result.data(), result.size()) == static_cast<ssize_t>(result.size()) ? 0 : 1);
    }
    ::close(ends[1]);
    read_end_ = ends[0];
  }
  ~Child() { wait(); }
  Child(Child&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)), read_end_(std::exchange(other.read_end_, -1)), status_(other.status_) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Waits for the child and returns the result of `work`.
  std::string result() {
    std::string text;
    char bytes[4096];
    for (ssize_t count = 0; (count = ::read(read_end_, bytes, sizeof bytes)) > 0;) {
      text.append(bytes, static_cast<std::size_t>(count));
    }
    return text;
  }
  /// Returns the status from waitpid(); 0 for a child that exited normally.
  int wait() {
    if (pid_ > 0) { ::waitpid(std::exchange(pid_, -1), &status_, 0); }
    if (read_end_ >= 0) { ::close(std::exchange(read_end_, -1)); }
    return status_;
  }

 private:
  pid_t pid_ = -1;
  int read_end_ = -1;
  int status_ = -1;
};

}  // namespace support
