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

/// Room on the disk for the last words of a journal: a file without a name, that goes with the process. Where the file
/// system has no such files, or no room for it, there is none. One thread at a time.
class JournalReserve {
 public:
  /// Takes it, unless it has some.
  void take(const std::string& directory) noexcept;
  /// Gives it back. False where there was none.
  bool give() noexcept;

 private:
  Descriptor file_;
  bool tried_ = false;
};

/// Has files written through to the disk, so that they outlive a power cut. That can take seconds: a thread of its own
/// waits, for as long as there is something to do, and nobody waits for it who does not want to. One thread at a time.
class JournalSync {
 public:
  /// \param directory of the files: their names have to reach the disk, too.
  /// \param threads false: nothing is ever written through.
  JournalSync(std::string directory, bool threads);

  /// Takes a file that nobody will write to any more, to be written through by the next start().
  void adopt(Descriptor file) noexcept;
  /// Begins, unless the last time is not over yet. \param descriptor of a file that goes on, -1: none; is duplicated.
  void start(int descriptor) noexcept;
  /// Whether the disk has refused since this was last asked: what it was given may not be there.
  bool take_failure() noexcept;
  /// Waits until nothing is under way, for at most `most`.
  void wait(std::chrono::milliseconds max);

 private:
  struct State;
  static void run(void* share);
  std::shared_ptr<State> state_;  // the thread's as well: it may outlive this
  bool threads_;
};

/// One file of a journal, while it is written: new (0600, O_EXCL, O_NOFOLLOW, O_CLOEXEC) and only appended to. One
/// thread at a time.
class JournalSegment {
 public:
  JournalSegment() = default;
  ~JournalSegment() { close(); }
  JournalSegment(const JournalSegment&) = delete;
  JournalSegment& operator=(const JournalSegment&) = delete;

  /// Each returns false and says why, and what to do, in error().
  bool open(const DirectoryFiles& directory, std::uint32_t number);
  /// All of it by one write(2), or, as far as the disk lets it, nothing: what went out of it is cut off again.
  bool append(std::string_view bytes);

  void close() noexcept;
  /// Closes it, and removes it from the directory in which it was opened.
  void remove(const DirectoryFiles& directory) noexcept;
  /// The file, still open, which is the caller's from now on.
  Descriptor release() noexcept { return std::move(descriptor_); }

  bool is_open() const noexcept { return descriptor_.is_open(); }
  /// False once the program has closed the file behind Takt's back.
  bool is_ours() const noexcept { return descriptor_.is_ours(); }
  /// False once somebody has removed the file, so that what is written goes nowhere, or changed its length.
  bool is_whole() const noexcept;
  /// -1 where there is none.
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
