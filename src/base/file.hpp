// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>
#include <takt/exporter.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include <sys/stat.h>
#include <sys/types.h>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A file descriptor that Takt owns. If the program closes it and reuses its number, Takt neither writes to nor closes
/// that other file. The number is never 0, 1 or 2: if those were closed, the program's output would land in the file.
/// Not thread-safe. Exported for the separate exporter libraries.
class TAKT_EXPORT Descriptor {
 public:
  Descriptor() = default;
  /// Owns a descriptor that was just opened; -1 means that open() failed. Keeps errno, or sets it if no number above 2
  /// is available.
  explicit Descriptor(int opened) noexcept;
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;

  /// Returns true if a file was opened and not closed here. The program may have closed it.
  bool is_open() const noexcept { return number_ >= 0; }
  /// Returns true if the number still refers to that file.
  bool is_ours() const noexcept;
  /// Like is_ours(), and reads the file's status.
  bool look(struct stat& status) const noexcept;
  bool is_file_of(const struct stat& status) const noexcept;
  /// Compares the files. Works for closed descriptors too.
  bool is_same(const Descriptor& other) const noexcept;
  int number() const noexcept { return number_; }

  void close() noexcept;
  /// Releases ownership without closing.
  void forget() noexcept { number_ = -1; }
  /// Duplicates the descriptor; the result is not open if that fails.
  Descriptor copy() const noexcept;

 private:
  int number_ = -1;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

/// Moves a descriptor that was just opened to a number above 2; returns -1 and sets errno if that fails.
TAKT_EXPORT int above_standard_streams(int made) noexcept;

/// Returns true if standard stream `number` was closed at program start and is now a regular file not opened for
/// appending: the program's own data, which got the number by chance. Any thread and signal handlers.
TAKT_EXPORT bool is_file_by_chance(int number) noexcept;

/// Reports once that the program closed a file of Takt's.
TAKT_EXPORT void report_closed_file(const std::string& path) noexcept;

/// Time limit for writes to a blocked pipe or terminal; a deadline while a run ends. Any thread.
class WriteTimeout {
 public:
  using Time = std::chrono::steady_clock::time_point;

  constexpr WriteTimeout() noexcept = default;
  void end_at(Time moment) noexcept { until_ns_.store(ns_of(moment), std::memory_order_relaxed); }
  void forget() noexcept { until_ns_.store(kForEver, std::memory_order_relaxed); }

  /// Returns the timeout for poll(2), in ms.
  /// \param max in ms; -1: unlimited.
  int left_ms(int max) const noexcept {
    const std::int64_t until = until_ns_.load(std::memory_order_relaxed);
    if (until == kForEver) { return max; }
    const std::int64_t left = std::max<std::int64_t>(until - ns_of(std::chrono::steady_clock::now()), 0) / 1'000'000;
    return static_cast<int>(max < 0 ? std::min<std::int64_t>(left, std::numeric_limits<int>::max())
                                    : std::min<std::int64_t>(left, max));
  }

 private:
  static constexpr std::int64_t kForEver = std::numeric_limits<std::int64_t>::max();
  static std::int64_t ns_of(Time moment) noexcept {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(moment.time_since_epoch()).count();
  }

  std::atomic<std::int64_t> until_ns_{kForEver};
};

/// Limits for the table on stdout and for lines on stderr.
inline WriteTimeout table_timeout;
inline WriteTimeout error_timeout;

class DirectoryFiles;

/// Readable by the owner only: names and metrics may be secret.
constexpr mode_t kFileMode = S_IRUSR | S_IWUSR;
/// Consecutive write failures before a report. A full disk often has space again a second later.
constexpr int kFailuresToReport = 3;

/// Creates `path` and its missing parents, mode 0700 whatever the umask. Refuses a last component that is a symbolic
/// link. On failure returns false and sets `error` to the reason and the cure. Not thread-safe for the same path.
TAKT_EXPORT bool make_directories(const std::string& path, std::string& error);

/// Returns the number of bytes written. If fewer than all, errno has the reason.
TAKT_EXPORT std::size_t write_all(int descriptor, std::string_view bytes) noexcept;

/// Appends up to `max` bytes of the file, starting at `offset`. Returns false and sets errno on failure. Does not
/// follow links or wait for pipes.
TAKT_EXPORT bool read_from(const std::string& path, std::uint64_t offset, std::size_t max, std::string& bytes);
/// Like read_from(), for an open descriptor.
TAKT_EXPORT bool read_at(int descriptor, std::uint64_t offset, std::size_t max, std::string& bytes);

/// Returns false only if nothing has that name.
TAKT_EXPORT bool may_exist(const std::string& path) noexcept;

/// Returns `path` if set, else the file `name` in `directory`. An empty `directory` is the current directory.
std::string path_or_in(const std::string& directory, const char* name, const std::string& path);

/// Describes an errno value for users.
TAKT_EXPORT std::string reason_of(int error);
/// Returns "cannot <what> <path>: <reason of `error`>; <cure>".
TAKT_EXPORT std::string explain_error(const char* what, const std::string& path, int error);

/// A file that gets its name only when complete: written to "<path>.part" (0600, O_EXCL, O_NOFOLLOW, O_CLOEXEC) and
/// renamed by commit(). A failed write keeps the data written so far. If the program closes the descriptor, the same
/// .part is reopened. Not thread-safe. Exported for the separate exporter libraries.
class TAKT_EXPORT WholeFile {
 public:
  static constexpr const char* kUsualCure = "set TAKT_DIR to a directory that can be written";

  WholeFile() = default;
  /// \param cure what to do if the file cannot be written, for error(); static storage.
  explicit WholeFile(const char* cure) noexcept : cure_(cure) {}
  ~WholeFile();  // closes the file; an uncommitted .part stays
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  /// These functions return false on failure; error() has the reason and the cure.
  bool open(const std::string& path);
  bool open(std::shared_ptr<const DirectoryFiles> directory, const std::string& name);
  /// Reserves memory: the next write() of `bytes` bytes allocates only if it fails. Throws std::bad_alloc.
  void make_space(std::size_t bytes) { buffer_.reserve(buffer_.size() + bytes); }
  bool write(std::string_view bytes);  ///< buffered; nothing is guaranteed to be on disk before flush() or commit()
  bool flush();
  bool commit();

  /// Removes the uncommitted file.
  void discard() noexcept;

  bool is_open() const noexcept { return descriptor_.is_open(); }
  const std::string& error() const noexcept { return error_; }

 private:
  bool fail(const char* what);
  bool hold();

  Descriptor descriptor_;
  std::shared_ptr<const DirectoryFiles> directory_;
  std::string name_;
  std::string path_;
  std::uint64_t written_ = 0;
  std::string buffer_;
  std::string error_;
  const char* cure_ = kUsualCure;
};

/// Writes a whole file with `write`, or none. Removes the partial file if `write`, commit() or an allocation fails: the
/// disk may be full. On failure returns false and sets `error`.
bool write_whole(const std::string& path, const std::function<bool(WholeFile&)>& write, std::string& error,
                 const char* cure = WholeFile::kUsualCure);

/// A WholeFile that an exporter appends to with each export. Returns `retry` while it cannot be written; later, no
/// record is repeated or lost. Buffers at most one export. Not thread-safe.
class StreamFile {
 public:
  /// Keeps the directory that the path leads to now, if it exists, even if it is moved.
  /// \param exporter name() of the exporter, static storage: the cause under which errors are reported.
  StreamFile(std::string path, const char* exporter);

  /// Opens the file on the first call and writes `head`. On `ok`, append records for which is_new() is true, then call
  /// end(). Any other result is the export's result.
  ExportResult begin(std::string_view head, bool finished);
  /// Returns false for a record appended in an export that returned `retry`.
  bool is_new(std::uint64_t sequence) const { return taken_.count(sequence) == 0; }
  /// Appends text, except after a tail. If it throws std::bad_alloc, nothing was appended.
  void append(std::string_view text);
  /// Appends a record's text and records its sequence number as not new.
  void append(std::uint64_t sequence, std::string_view text);
  /// Flushes. If `finished`, also appends `tail` and renames the file. Returns the export's result.
  ExportResult end(std::string_view tail, bool finished);

 private:
  ExportResult refuse(bool finished);

  std::string path_;
  std::shared_ptr<const DirectoryFiles> directory_;  // reset once the file has its name
  const char* exporter_;
  WholeFile file_;
  std::unordered_set<std::uint64_t> taken_;  // appended since the last `ok`
  bool has_head_ = false;
  bool has_tail_ = false;
  bool committed_ = false;
  int failures_ = 0;  // consecutive
};

}  // namespace detail
TAKT_END_NAMESPACE
