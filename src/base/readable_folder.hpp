// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <sys/stat.h>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// The files of one folder for those who only read them: one on a disk, or one inside another file. Each returns false
/// with errno. One thread at a time. Exported for the exporters that are libraries of their own.
class TAKT_EXPORT ReadableFolder {
 public:
  virtual ~ReadableFolder() = default;

  virtual const std::string& path() const noexcept = 0;
  std::string path(const std::string& name) const { return path() + "/" + name; }

  /// Of all entries, in any order.
  virtual std::vector<std::string> names() const = 0;
  /// Of the entry itself, as it stands.
  virtual bool look(const std::string& name, struct stat& status) const = 0;
  /// Appends what the file holds from `offset` on, `most` bytes of it at most.
  virtual bool read(const std::string& name, std::uint64_t offset, std::size_t most, std::string& bytes) const = 0;
  /// The whole file, EFBIG where that is more than `most` bytes.
  bool read_whole(const std::string& name, std::size_t most, std::string& bytes) const {
    if (!read(name, 0, most + 1, bytes)) { return false; }  // one more tells that there is more
    errno = bytes.size() > most ? EFBIG : 0;
    return errno == 0;
  }

 protected:
  ReadableFolder() = default;
  ReadableFolder(ReadableFolder&&) = default;
  ReadableFolder& operator=(ReadableFolder&&) = default;
};

}  // namespace detail
TAKT_END_NAMESPACE
