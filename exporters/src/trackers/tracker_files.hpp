// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/directory_files.hpp"
#include "base/file.hpp"
#include "trackers/tracker.hpp"

#include <takt/config.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

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
  bool take(std::shared_ptr<const DirectoryFiles> directory, const std::string& name);
  /// Touches it when it is time to. Returns whether it is still this process's.
  bool refresh();
  /// Checks the file at once; call it before an action that needs the lease. Returns whether it is this process's; if
  /// not, the next refresh() returns false, too. REQUIRES: take() has been called.
  bool confirm();
  /// Others need not wait.
  void release() noexcept;
  /// The time, in ns since 1970, by the clock that gives files in the directory their times, which may be that of
  /// another
  /// machine; 0: not known. REQUIRES: held().
  std::int64_t directory_now_ns() const;

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
  std::shared_ptr<const DirectoryFiles> directory_;
  std::string name_;
  std::string problem_;
  bool broken_ = false;
  std::chrono::steady_clock::time_point touched_;
};

/// The file in a run directory that says how far the run was delivered to a tracker, for whoever goes on. What is in
/// it is
/// the tracker's; no credentials. One thread at a time.
class CursorFile {
 public:
  /// From now on save() writes there.
  /// \param lease without which save() writes nothing, as the file is another process's by then; it outlives the last
  /// save(). nullptr: none is asked for.
  void keep(const std::string& file, FileLease* lease = nullptr);
  void keep(std::shared_ptr<const DirectoryFiles> directory, const std::string& name, FileLease* lease = nullptr);
  bool is_kept() const noexcept { return directory_ != nullptr; }

  /// For people. REQUIRES: is_kept().
  std::string path() const { return directory_->path(name_); }
  std::string directory() const { return directory_->path(); }
  /// The directory `directory`: where that is the one of the cursor, the same as was opened, whatever its path leads
  /// to by
  /// now.
  std::shared_ptr<const DirectoryFiles> directory_at(const std::string& directory) const;

  /// Writes `text`, unless the file has it. Returns whether it has now; problem() says why not. REQUIRES: is_kept().
  bool save(std::string text);
  /// Why the last save() failed; empty where it did not.
  const std::string& problem() const noexcept { return problem_; }

 private:
  std::shared_ptr<const DirectoryFiles> directory_;
  std::string name_;
  FileLease* lease_ = nullptr;
  std::string saved_;
  std::string problem_;
};

/// A file under way that is only ever appended to. What the disk does not take is kept, and written later. One thread
/// at a time.
class GrowingFile {
 public:
  GrowingFile() = default;
  ~GrowingFile() = default;  // closes; what was not flushed is not in the file
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;

  /// Makes the file (0600), which must not exist. Each returns false, with errno, where that cannot be done.
  bool create(std::shared_ptr<const DirectoryFiles> directory, const std::string& name);
  /// Opens one that is there, and changes nothing: it may be read from, and continued by go_on().
  bool open(std::shared_ptr<const DirectoryFiles> directory, const std::string& name);
  bool read(std::uint64_t offset, std::size_t max, std::string& bytes) const;
  bool look(struct stat& status) const { return file_.look(status); }
  /// Whether it has its name still.
  bool is_in_place() const;
  /// Goes on behind `bytes`; what is there beyond goes. REQUIRES: a record ends there, and nobody else writes to it.
  bool go_on(std::uint64_t bytes);
  bool flush();
  /// Waits for the disk.
  bool sync();

  void append_bytes(std::string_view bytes) { buffer_ += bytes; }
  /// Bytes that are in the file.
  std::uint64_t written() const noexcept { return written_; }
  /// Bytes that are not.
  std::size_t backlog() const noexcept { return buffer_.size(); }
  /// Forgets what is not written yet. Nothing can be appended afterwards.
  void discard() noexcept { buffer_ = std::string(); }

 private:
  bool hold();

  Descriptor file_;
  std::shared_ptr<const DirectoryFiles> directory_;
  std::string name_;
  std::uint64_t written_ = 0;
  std::string buffer_;
};

/// What a disk has not taken yet of a tracker's file: it is kept, and written when that can be done; beyond a bound the
/// file is given up. A line says so. One thread at a time.
class Backlog {
 public:
  /// "cannot <what> <path>: <reason of `number`>; <what to do>".
  using Fault = std::string (*)(const char* what, const std::string& path, int number);

  /// \param file not owned.
  /// \param most bytes that are kept.
  /// \param cure a sentence for the line about a file that is given up; may be empty.
  Backlog(GrowingFile& file, const Tracker& tracker, Fault error, std::size_t max, const char* cure = "")
      : file_(file), tracker_(tracker), fault_(error), max_(max), cure_(cure) {}

  /// Returns whether all is written. \param place that lines name.
  bool write(const std::string& place);
  /// Nothing more is written. \param why what a line says.
  void give_up(const std::string& place, const std::string& why);
  bool is_given_up() const noexcept { return given_up_; }

 private:
  GrowingFile& file_;
  const Tracker tracker_;
  const Fault fault_;
  const std::size_t max_;
  const char* const cure_;
  bool given_up_ = false;
};

/// trace.json of a run directory, or another file, open for reading. Whoever plants a file there cannot wish for what
/// it
/// begins with: what is none of Takt's time lines is not opened, with errno ENOEXEC. Any thread.
Descriptor open_time_line(const DirectoryFiles& directory, const std::string& name = "trace.json");

}  // namespace detail
TAKT_END_NAMESPACE
