// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/directory_files.hpp"
#include "base/file.hpp"

#include <takt/config.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Disk space reserved for the end of a journal: a file without a name, removed with the process. Reserves nothing if
/// the file system does not support such files or has no space. Not thread-safe.
class JournalReserve {
 public:
  /// Reserves the space. Only the first call tries.
  void take(const std::string& directory) noexcept;
  /// Releases the space. Returns false if none was reserved.
  bool give() noexcept;

 private:
  Descriptor file_;
  bool tried_ = false;
};

/// Syncs files to the disk, so that they survive a power failure. This can take seconds, so a temporary thread does it;
/// waiting is optional. Not thread-safe.
class JournalSync {
 public:
  /// \param directory of the files: syncing it makes their names durable.
  /// \param threads false: nothing is synced.
  JournalSync(std::string directory, bool threads);

  /// Takes a finished file, to be synced by the next start().
  void adopt(Descriptor file) noexcept;
  /// Starts syncing unless it is still in progress.
  /// \param descriptor a file still in use, duplicated here; -1: none.
  void start(int descriptor) noexcept;
  /// Returns true if a sync failed since the last call: data may not be on the disk.
  bool take_failure() noexcept;
  /// Waits until nothing is in progress, for at most `max`.
  void wait(std::chrono::milliseconds max);

 private:
  struct State;
  static void run(void* share);
  std::shared_ptr<State> state_;  // shared with the thread, which may outlive this object
  bool threads_;
};

/// One file of a journal while it is written: new (0600, O_EXCL, O_NOFOLLOW, O_CLOEXEC) and append-only. Not
/// thread-safe.
class JournalSegment {
 public:
  JournalSegment() = default;
  ~JournalSegment() { close(); }
  JournalSegment(const JournalSegment&) = delete;
  JournalSegment& operator=(const JournalSegment&) = delete;

  /// These functions return false on failure; error() has the reason and the cure.
  bool open(const DirectoryFiles& directory, std::uint32_t number);
  /// Appends all bytes with one write(2). After a partial write, truncates the file to its previous length if possible.
  bool append(std::string_view bytes);

  void close() noexcept;
  /// Closes the file and removes it from the directory in which it was created.
  void remove(const DirectoryFiles& directory) noexcept;
  /// Transfers ownership of the file, still open, to the caller.
  Descriptor release() noexcept { return std::move(descriptor_); }

  bool is_open() const noexcept { return descriptor_.is_open(); }
  /// Returns false after the program closed the file.
  bool is_ours() const noexcept { return descriptor_.is_ours(); }
  /// Returns false if the file was removed or its length was changed by others.
  bool is_whole() const noexcept;
  /// Returns -1 if no file is open.
  int descriptor() const noexcept { return descriptor_.is_ours() ? descriptor_.number() : -1; }
  const std::string& path() const noexcept { return path_; }
  std::size_t bytes() const noexcept { return bytes_; }
  const std::string& error() const noexcept { return error_; }

 private:
  bool fail(const char* what, int error);

  Descriptor descriptor_;
  std::size_t bytes_ = 0;
  std::string name_;
  std::string path_;
  std::string error_;
};

}  // namespace detail
TAKT_END_NAMESPACE
