// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include "base/descriptor.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <sys/stat.h>

TAKT_BEGIN_NAMESPACE
namespace detail {

class FolderFiles;

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
TAKT_EXPORT bool read_from(const std::string& path, std::uint64_t offset, std::size_t most, std::string& bytes);
/// The same of an open one.
TAKT_EXPORT bool read_at(int descriptor, std::uint64_t offset, std::size_t most, std::string& bytes);

/// Whether there is something of that name, or nobody can tell.
TAKT_EXPORT bool may_exist(const std::string& path) noexcept;

/// `path`; where that is empty, the file `name` in `folder`, or in the current folder where that is empty too.
std::string path_or_in(const std::string& folder, const char* name, const std::string& path);

/// Why a file cannot be used, for people.
TAKT_EXPORT std::string reason_of(int error);
/// "cannot <what> <path>: <reason of `error`>; <what to do>".
TAKT_EXPORT std::string explain_fault(const char* what, const std::string& path, int error);

/// A file that appears under its name only when it is whole: written to "<path>.part" (0600, O_EXCL, O_NOFOLLOW,
/// O_CLOEXEC), renamed by commit(). A failed write keeps what was written. Where the program closes it, it goes on with
/// the same .part, opened again. One thread at a time. Exported for the exporters that are libraries of their own.
class TAKT_EXPORT WholeFile {
 public:
  static constexpr const char* kUsualCure = "set TAKT_DIR to a folder that can be written";

  WholeFile() = default;
  /// \param cure what to do where it cannot be written, for error(); static storage.
  explicit WholeFile(const char* cure) noexcept : cure_(cure) {}
  ~WholeFile();  // closes; leaves the .part of an uncommitted file where it is
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  /// Each returns false and says why, and what to do, in error().
  bool open(const std::string& path);
  bool open(std::shared_ptr<const FolderFiles> folder, const std::string& name);
  /// The next write() of so many bytes needs no memory unless it fails. Throws std::bad_alloc.
  void make_room(std::size_t bytes) { buffer_.reserve(buffer_.size() + bytes); }
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
  std::shared_ptr<const FolderFiles> folder_;
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

}  // namespace detail
TAKT_END_NAMESPACE
