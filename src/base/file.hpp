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

/// A file that Takt holds open. The program may close it behind Takt's back, and get its number for a file of its own:
/// that one is neither written to nor closed from here. Never 0, 1 or 2: where these were closed, what the program
/// prints would go into the file. One thread at a time. Exported for the exporters that are libraries of their own.
class TAKT_EXPORT Descriptor {
 public:
  Descriptor() = default;
  /// Takes what was opened just now; -1: nothing was. errno stays, or says why there is no other number for it.
  explicit Descriptor(int opened) noexcept;
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;

  /// Whether there was a file, and it was not closed from here.
  bool is_open() const noexcept { return number_ >= 0; }
  /// Whether the number is that file's still.
  bool is_ours() const noexcept;
  /// The same, and how the file stands.
  bool look(struct stat& status) const noexcept;
  bool is_file_of(const struct stat& status) const noexcept;
  /// Of the file, after it was closed as well.
  bool is_same(const Descriptor& other) const noexcept;
  int number() const noexcept { return number_; }

  void close() noexcept;
  /// Somebody else closes it.
  void forget() noexcept { number_ = -1; }
  /// The same file once more; not open where that cannot be done.
  Descriptor copy() const noexcept;

 private:
  int number_ = -1;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

/// A descriptor that was made just now, under a number above 2; -1, with errno, where there is none.
TAKT_EXPORT int above_standard_streams(int made) noexcept;

/// Whether `number`, of a standard stream, was closed when the program began, and is that of a file by now which is not
/// opened for appending: data of the program's own, which got the number by chance. Any thread, and in signal handlers.
TAKT_EXPORT bool is_file_by_chance(int number) noexcept;

/// Says once that the program has closed files of Takt's.
TAKT_EXPORT void report_closed_file(const std::string& path) noexcept;

/// How long somebody may wait for a pipe or a terminal that takes nothing: while a run ends, to a moment that is known.
/// Any thread.
class WriteTimeout {
 public:
  using Time = std::chrono::steady_clock::time_point;

  constexpr WriteTimeout() noexcept = default;
  void end_at(Time moment) noexcept { until_ns_.store(ns_of(moment), std::memory_order_relaxed); }
  void forget() noexcept { until_ns_.store(kForEver, std::memory_order_relaxed); }

  /// For poll(2). \param most in ms, -1: for ever.
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

/// Of the table on stdout, and of lines on stderr.
inline WriteTimeout table_timeout;
inline WriteTimeout error_timeout;

class DirectoryFiles;

/// For nobody else to read: names and metrics may be a secret.
constexpr mode_t kFileMode = S_IRUSR | S_IWUSR;
/// In a row, of writes. A full disk often has room again a second later; that is not worth a word.
constexpr int kFailuresToReport = 3;

/// Makes `path` and its missing parents, mode 0700 whatever the umask. Refuses a last component that is a symbolic
/// link. Returns false and says in `error` what failed and what to do. One thread at a time per path.
TAKT_EXPORT bool make_directories(const std::string& path, std::string& error);

/// How many bytes went out; errno says why not all.
TAKT_EXPORT std::size_t write_all(int descriptor, std::string_view bytes) noexcept;

/// Appends what the file holds from `offset` on, `most` bytes of it at most. False, with errno, where it cannot be
/// read; neither is a link followed nor a pipe waited for.
TAKT_EXPORT bool read_from(const std::string& path, std::uint64_t offset, std::size_t max, std::string& bytes);
/// The same of an open one.
TAKT_EXPORT bool read_at(int descriptor, std::uint64_t offset, std::size_t max, std::string& bytes);

/// Whether there is something of that name, or nobody can tell.
TAKT_EXPORT bool may_exist(const std::string& path) noexcept;

/// `path`; where that is empty, the file `name` in `directory`, or in the current directory where that is empty too.
std::string path_or_in(const std::string& directory, const char* name, const std::string& path);

/// Why a file cannot be used, for people.
TAKT_EXPORT std::string reason_of(int error);
/// "cannot <what> <path>: <reason of `error`>; <what to do>".
TAKT_EXPORT std::string explain_error(const char* what, const std::string& path, int error);

/// A file that appears under its name only when it is whole: written to "<path>.part" (0600, O_EXCL, O_NOFOLLOW,
/// O_CLOEXEC), renamed by commit(). A failed write keeps what was written. Where the program closes it, it goes on with
/// the same .part, opened again. One thread at a time. Exported for the exporters that are libraries of their own.
class TAKT_EXPORT WholeFile {
 public:
  static constexpr const char* kUsualCure = "set TAKT_DIR to a directory that can be written";

  WholeFile() = default;
  /// \param cure what to do where it cannot be written, for error(); static storage.
  explicit WholeFile(const char* cure) noexcept : cure_(cure) {}
  ~WholeFile();  // closes; leaves the .part of an uncommitted file where it is
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  /// Each returns false and says why, and what to do, in error().
  bool open(const std::string& path);
  bool open(std::shared_ptr<const DirectoryFiles> directory, const std::string& name);
  /// The next write() of so many bytes needs no memory unless it fails. Throws std::bad_alloc.
  void make_space(std::size_t bytes) { buffer_.reserve(buffer_.size() + bytes); }
  bool write(std::string_view bytes);  ///< buffered; nothing is guaranteed on disk before flush() or commit()
  bool flush();
  bool commit();

  /// Takes back what was not committed.
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

/// A file that `write` fills. Half of one is worth nothing, and the space may be what is missing: if not all is
/// written, or there is no memory for it, nothing of it stays. Returns false and says why in `error`.
bool write_whole(const std::string& path, const std::function<bool(WholeFile&)>& write, std::string& error,
                 const char* cure = WholeFile::kUsualCure);

/// A WholeFile that an exporter adds to from export to export. It answers `retry` while nothing can be written, and
/// neither repeats nor loses a record when that is over. What it holds back is at most one export's worth.
/// One thread at a time.
class StreamFile {
 public:
  /// The file will be in the directory that the path leads to now, if there is one, wherever that is moved.
  /// \param exporter name() of the exporter, static storage: the cause that faults are reported under.
  StreamFile(std::string path, const char* exporter);

  /// Opens the file at first, with `head`. `ok`: append what is_new(), then call end(). All else is the export's
  /// answer.
  ExportResult begin(std::string_view head, bool finished);
  /// False for a record that was appended in an export that had to answer `retry`.
  bool is_new(std::uint64_t sequence) const { return taken_.count(sequence) == 0; }
  /// Nothing can be appended behind a tail. Throws std::bad_alloc, and then has appended nothing.
  void append(std::string_view text);
  /// The text of a record, which is not new from then on.
  void append(std::uint64_t sequence, std::string_view text);
  /// Writes out; of a finished run, adds `tail` and gives the file its name. The answer is the export's.
  ExportResult end(std::string_view tail, bool finished);

 private:
  ExportResult refuse(bool finished);

  std::string path_;
  std::shared_ptr<const DirectoryFiles> directory_;  // until the file has its name
  const char* exporter_;
  WholeFile file_;
  std::unordered_set<std::uint64_t> taken_;  // since the last `ok`
  bool has_head_ = false;
  bool has_tail_ = false;
  bool committed_ = false;
  int failures_ = 0;  // in a row
};

}  // namespace detail
TAKT_END_NAMESPACE
