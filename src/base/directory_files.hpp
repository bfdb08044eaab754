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

/// Read access to the files of one directory, on disk or inside another file. Functions that fail return false and set
/// errno. Not thread-safe. Exported for the separate exporter libraries.
class TAKT_EXPORT ReadableDirectory {
 public:
  virtual ~ReadableDirectory() = default;

  virtual const std::string& path() const noexcept = 0;
  std::string path(const std::string& name) const { return path() + "/" + name; }

  /// Returns the names of all entries, in any order.
  virtual std::vector<std::string> names() const = 0;
  /// Reads the status of the entry itself: links are not followed.
  virtual bool look(const std::string& name, struct stat& status) const = 0;
  /// Appends up to `max` bytes of the file, starting at `offset`.
  virtual bool read(const std::string& name, std::uint64_t offset, std::size_t max, std::string& bytes) const = 0;
  /// Reads the whole file. Fails with EFBIG if it has more than `max` bytes.
  bool read_whole(const std::string& name, std::size_t max, std::string& bytes) const {
    if (!read(name, 0, max + 1, bytes)) { return false; }  // one extra byte shows that the file is larger
    errno = bytes.size() > max ? EFBIG : 0;
    return errno == 0;
  }

 protected:
  ReadableDirectory() = default;
  ReadableDirectory(ReadableDirectory&&) = default;
  ReadableDirectory& operator=(ReadableDirectory&&) = default;
};

/// The files of one directory that others may write to. The directory is opened once and stays the same if its path
/// changes. Names must be plain entry names. Links are not followed and only regular files are opened, so no call
/// blocks on a pipe or triggers a device. Functions that fail return false, or an object that is not open, and set
/// errno: ELOOP for a link, ENXIO for anything else but a regular file, EINVAL for an invalid name. Not thread-safe.
/// Exported for the separate exporter libraries.
class TAKT_EXPORT DirectoryFiles final : public ReadableDirectory {
 public:
  DirectoryFiles() = default;
  /// \param path may be a link, which is followed. It need not exist yet.
  explicit DirectoryFiles(std::string path);
  /// Opens the subdirectory `name`.
  DirectoryFiles directory(const std::string& name) const;

  /// Returns true if the directory exists and is the one opened before.
  bool is_open() const { return at() >= 0; }
  const std::string& path() const noexcept override { return path_; }
  using ReadableDirectory::path;
  /// Returns the path that leads to the directory now, even if it was moved; path() if that is unknown.
  std::string current_path() const;

  /// \param flags O_RDONLY, O_WRONLY or O_RDWR.
  Descriptor open(const std::string& name, int flags) const;
  /// Creates a file (0600 whatever the umask). Fails if it exists.
  Descriptor create(const std::string& name, int flags) const;
  bool read(const std::string& name, std::uint64_t offset, std::size_t max, std::string& bytes) const override;

  bool look(const std::string& name, struct stat& status) const override;
  /// Returns false only if no entry has that name.
  bool may_exist(const std::string& name) const;
  std::vector<std::string> names() const override;

  /// Creates a directory (0700, plus an inherited set-group-id bit).
  bool make_directory(const std::string& name) const;
  bool rename(const std::string& from, const std::string& to) const;
  bool remove(const std::string& name) const;
  /// Gives `file` another name. Fails if that exists.
  bool link(const Descriptor& file, const std::string& name) const;

 private:
  int at() const;
  int open_directory() const;

  std::string path_;
  bool follows_ = true;
  mutable Descriptor descriptor_;
  mutable bool was_open_ = false;
  int why_closed_ = ENOENT;  // errno of calls while the directory is not open
};

/// Returns true if `name` is a valid entry name: not empty, "." or "..", and without slashes and zero bytes. Any
/// thread.
TAKT_EXPORT bool is_entry_name(std::string_view name) noexcept;

/// Returns "a/b" for "a/b/c" and "." for "c".
TAKT_EXPORT std::string directory_part(const std::string& path);
/// Returns "c" for "a/b/c".
TAKT_EXPORT std::string name_part(const std::string& path);

}  // namespace detail
TAKT_END_NAMESPACE
