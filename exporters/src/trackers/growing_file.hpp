// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include "base/descriptor.hpp"
#include "base/folder_files.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A file under way that is only ever appended to. What the disk does not take is kept, and written later. One thread
/// at a time.
class GrowingFile {
 public:
  GrowingFile() = default;
  ~GrowingFile() = default;  // closes; what was not flushed is not in the file
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;

  /// Makes the file (0600), which must not exist. Each returns false, with errno, where that cannot be done.
  bool create(std::shared_ptr<const FolderFiles> folder, const std::string& name);
  /// Opens one that is there, and changes nothing: it may be read from, and continued by go_on().
  bool open(std::shared_ptr<const FolderFiles> folder, const std::string& name);
  bool read(std::uint64_t offset, std::size_t most, std::string& bytes) const;
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
  std::shared_ptr<const FolderFiles> folder_;
  std::string name_;
  std::uint64_t written_ = 0;
  std::string buffer_;
};

}  // namespace detail
TAKT_END_NAMESPACE
