// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/file.hpp"

#include <takt/config.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sys/stat.h>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// The files of one directory for those who only read them: one on a disk, or one inside another file. Each returns
/// false
/// with errno. One thread at a time. Exported for the exporters that are libraries of their own.
class TAKT_EXPORT ReadableDirectory {
 public:
  virtual ~ReadableDirectory() = default;

  virtual const std::string& path() const noexcept = 0;
  std::string path(const std::string& name) const { return path() + "/" + name; }

  /// Of all entries, in any order.
  virtual std::vector<std::string> names() const = 0;
  /// Of the entry itself, as it stands.
  virtual bool look(const std::string& name, struct stat& status) const = 0;
  /// Appends what the file holds from `offset` on, `most` bytes of it at most.
  virtual bool read(const std::string& name, std::uint64_t offset, std::size_t max, std::string& bytes) const = 0;
  /// The whole file, EFBIG where that is more than `most` bytes.
  bool read_whole(const std::string& name, std::size_t max, std::string& bytes) const {
    if (!read(name, 0, max + 1, bytes)) { return false; }  // one more tells that there is more
    errno = bytes.size() > max ? EFBIG : 0;
    return errno == 0;
  }

 protected:
  ReadableDirectory() = default;
  ReadableDirectory(ReadableDirectory&&) = default;
  ReadableDirectory& operator=(ReadableDirectory&&) = default;
};

/// The files of one directory, into which anybody may have put anything. The directory is opened once, and stays the
/// same
/// whatever becomes of its path. A name is that of an entry: it leads nowhere else, is no link, and what is opened is a
/// regular file, so that nobody waits for a pipe or wakes a device. Each returns false, or what is not open, with
/// errno: ELOOP for a link, ENXIO for what is no file, EINVAL for what is no name. One thread at a time. Exported for
/// the exporters that are libraries of their own.
class TAKT_EXPORT DirectoryFiles final : public ReadableDirectory {
 public:
  DirectoryFiles() = default;
  /// \param path is followed where it is a link: whoever names a directory means where that leads. It need not be there
  /// yet.
  explicit DirectoryFiles(std::string path);
  /// The directory `name` in this one.
  DirectoryFiles directory(const std::string& name) const;

  /// Whether it is there, and the same as before.
  bool is_open() const { return at() >= 0; }
  const std::string& path() const noexcept override { return path_; }
  using ReadableDirectory::path;
  /// The path that leads to it now, should somebody have moved it; path() where that cannot be known.
  std::string current_path() const;

  /// \param flags O_RDONLY, O_WRONLY or O_RDWR.
  Descriptor open(const std::string& name, int flags) const;
  /// A new one (0600 whatever the umask), which must not exist.
  Descriptor create(const std::string& name, int flags) const;
  bool read(const std::string& name, std::uint64_t offset, std::size_t max, std::string& bytes) const override;

  bool look(const std::string& name, struct stat& status) const override;
  /// Whether there is something of that name, or nobody can tell.
  bool may_exist(const std::string& name) const;
  std::vector<std::string> names() const override;

  /// A new one (0700, and the set-group-id bit that it inherits).
  bool make_directory(const std::string& name) const;
  bool rename(const std::string& from, const std::string& to) const;
  bool remove(const std::string& name) const;
  /// Gives `file` another name, which must not exist.
  bool link(const Descriptor& file, const std::string& name) const;

 private:
  int at() const;
  int open_directory() const;

  std::string path_;
  bool follows_ = true;
  mutable Descriptor descriptor_;
  mutable bool was_open_ = false;
  int why_closed_ = ENOENT;  // errno of what asks for files of a directory that is not open
};

/// Whether `name` can be that of an entry: not empty, "." or "..", without a slash or a zero byte. Any thread.
TAKT_EXPORT bool is_entry_name(std::string_view name) noexcept;

/// "a/b" of "a/b/c", "." of "c".
TAKT_EXPORT std::string directory_part(const std::string& path);
/// "c" of "a/b/c".
TAKT_EXPORT std::string name_part(const std::string& path);

}  // namespace detail
TAKT_END_NAMESPACE
