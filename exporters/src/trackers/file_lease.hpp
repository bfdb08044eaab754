// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include "base/descriptor.hpp"
#include "base/folder_files.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include <sys/stat.h>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// The right to do something alone, such as to deliver a run: a file that one process makes, and touches again and
/// again. Whoever finds one that was not touched for kStale, or whose process is gone, or that is empty for kRefresh,
/// takes it. Needs no locks, so that it works on network file systems. Of two that take the same stale one at once, one
/// has it; of three, two may until refresh() or confirm() tells one of them. One thread at a time.
class FileLease {
 public:
  static constexpr std::chrono::seconds kRefresh{5};
  static constexpr std::chrono::seconds kStale{120};

  FileLease() = default;
  /// Leaves the file where it is: see release().
  ~FileLease() = default;
  FileLease(const FileLease&) = delete;
  FileLease& operator=(const FileLease&) = delete;

  /// Returns whether this process has it now; if not, problem() says why.
  bool take(const std::string& file);
  bool take(std::shared_ptr<const FolderFiles> folder, const std::string& name);
  /// Touches it when it is time to. Returns whether it is still this process's.
  bool refresh();
  /// Checks the file at once; call it before an action that needs the lease. Returns whether it is this process's; if
  /// not, the next refresh() returns false, too. REQUIRES: take() has been called.
  bool confirm();
  /// Others need not wait.
  void release() noexcept;
  /// The time, in ns since 1970, by the clock that gives files in the folder their times, which may be that of another
  /// machine; 0: not known. REQUIRES: held().
  std::int64_t folder_now_ns() const;

  bool held() const noexcept { return descriptor_.is_open(); }
  const std::string& problem() const noexcept { return problem_; }
  /// After take(): nobody has it, as far as one can tell; the file cannot be made, or read, and waiting does not help.
  bool is_broken() const noexcept { return broken_; }

 private:
  struct Seen {
    struct stat status = {};
    std::string text;
  };
  std::string own_name() const;
  bool is_stale(Seen& seen);
  bool remove(const Seen& seen) const;
  bool is_ours();

  Descriptor descriptor_;
  std::shared_ptr<const FolderFiles> folder_;
  std::string name_;
  std::string problem_;
  bool broken_ = false;
  std::chrono::steady_clock::time_point touched_;
};

}  // namespace detail
TAKT_END_NAMESPACE
