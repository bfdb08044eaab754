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

/// Exclusive right to do something, such as to deliver a run: a file that one process creates and touches regularly.
/// Another process takes it over if it was not touched for kStale, if its process has ended, or if it is empty for
/// kRefresh. Uses no locks, so it works on network file systems. If two processes take over a stale lease at once, one
/// gets it; if three do, two may hold it until refresh() or confirm() fails for one. One thread at a time.
class FileLease {
 public:
  static constexpr std::chrono::seconds kRefresh{5};
  static constexpr std::chrono::seconds kStale{120};

  FileLease() = default;
  /// Keeps the file: see release().
  ~FileLease() = default;
  FileLease(const FileLease&) = delete;
  FileLease& operator=(const FileLease&) = delete;

  /// Returns whether this process now holds the lease; if not, problem() has the reason.
  bool take(const std::string& file);
  bool take(std::shared_ptr<const DirectoryFiles> directory, const std::string& name);
  /// Touches the file when due. Returns whether this process still holds the lease.
  bool refresh();
  /// Checks the file at once; call before an action that needs the lease. Returns whether this process holds it; if
  /// not, the next refresh() returns false, too. REQUIRES: take() has been called.
  bool confirm();
  /// Releases the lease, so that others need not wait.
  void release() noexcept;
  /// Returns the time in ns since 1970, by the clock that timestamps files in the directory, which may be another
  /// machine's. 0: unknown. REQUIRES: held().
  std::int64_t directory_now_ns() const;

  bool held() const noexcept { return descriptor_.is_open(); }
  const std::string& problem() const noexcept { return problem_; }
  /// After take(): no process seems to hold the lease, but its file cannot be created or read, and waiting does not
  /// help.
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

/// File in a run directory with the delivery progress to a tracker, from which another process can resume. The content
/// is the tracker's; no credentials. One thread at a time.
class CursorFile {
 public:
  /// Sets the file that save() writes.
  /// \param lease save() writes nothing without it, because the file may then be another process's; it outlives the
  /// last save(). nullptr: no lease is required.
  void keep(const std::string& file, FileLease* lease = nullptr);
  void keep(std::shared_ptr<const DirectoryFiles> directory, const std::string& name, FileLease* lease = nullptr);
  bool is_kept() const noexcept { return directory_ != nullptr; }

  /// Returns the path for messages. REQUIRES: is_kept().
  std::string path() const { return directory_->path(name_); }
  std::string directory() const { return directory_->path(); }
  /// Returns the directory `directory`. If it is the cursor's, returns the one already opened, even if its path has
  /// changed meaning.
  std::shared_ptr<const DirectoryFiles> directory_at(const std::string& directory) const;

  /// Writes `text`, unless the file already has it. Returns whether the file has it now; problem() says why not.
  /// REQUIRES: is_kept().
  bool save(std::string text);
  /// Returns the reason why the last save() failed; empty if it succeeded.
  const std::string& problem() const noexcept { return problem_; }

 private:
  std::shared_ptr<const DirectoryFiles> directory_;
  std::string name_;
  FileLease* lease_ = nullptr;
  std::string saved_;
  std::string problem_;
};

/// An append-only file. Buffers data that the disk refuses, and writes it later. One thread at a time.
class GrowingFile {
 public:
  GrowingFile() = default;
  ~GrowingFile() = default;  // closes; unflushed data is discarded
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;

  /// Creates the file (0600), which must not exist. create() and open() return false, with errno set, on failure.
  bool create(std::shared_ptr<const DirectoryFiles> directory, const std::string& name);
  /// Opens an existing file without changing it: for read() and go_on().
  bool open(std::shared_ptr<const DirectoryFiles> directory, const std::string& name);
  bool read(std::uint64_t offset, std::size_t max, std::string& bytes) const;
  bool look(struct stat& status) const { return file_.look(status); }
  /// Returns whether the file still has its name.
  bool is_in_place() const;
  /// Continues after the first `bytes` bytes, and truncates the rest. REQUIRES: a record ends there, and no other
  /// process writes.
  bool go_on(std::uint64_t bytes);
  bool flush();
  /// Waits for the disk.
  bool sync();

  void append_bytes(std::string_view bytes) { buffer_ += bytes; }
  /// Returns the number of bytes in the file.
  std::uint64_t written() const noexcept { return written_; }
  /// Returns the number of bytes not yet written.
  std::size_t backlog() const noexcept { return buffer_.size(); }
  /// Discards unwritten data. Nothing can be appended afterwards.
  void discard() noexcept { buffer_ = std::string(); }

 private:
  bool hold();

  Descriptor file_;
  std::shared_ptr<const DirectoryFiles> directory_;
  std::string name_;
  std::uint64_t written_ = 0;
  std::string buffer_;
};

/// Backlog of a tracker's file while the disk refuses data. The data is buffered and written later. Beyond a maximum
/// writing stops with one warning. One thread at a time.
class Backlog {
 public:
  /// Returns "cannot <what> <path>: <reason of `number`>; <cure>".
  using Fault = std::string (*)(const char* what, const std::string& path, int number);

  /// \param file not owned.
  /// \param max maximum backlog, in bytes.
  /// \param cure sentence for the message printed when writing stops; may be empty.
  Backlog(GrowingFile& file, const Tracker& tracker, Fault error, std::size_t max, const char* cure = "")
      : file_(file), tracker_(tracker), fault_(error), max_(max), cure_(cure) {}

  /// Returns whether everything is written. \param place name of the file in messages.
  bool write(const std::string& place);
  /// Stops writing. \param why reason for the message.
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

/// Opens trace.json, or another file, of a run directory for reading. A file that does not start like a Takt time line
/// is not opened, with errno ENOEXEC, so nobody can plant another file there. Any thread.
Descriptor open_time_line(const DirectoryFiles& directory, const std::string& name = "trace.json");

}  // namespace detail
TAKT_END_NAMESPACE
