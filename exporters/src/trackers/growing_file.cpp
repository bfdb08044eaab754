// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "trackers/growing_file.hpp"

#include "base/file.hpp"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace detail {

bool GrowingFile::create(std::shared_ptr<const FolderFiles> folder, const std::string& name) {
  folder_ = std::move(folder);
  name_ = name;
  file_ = folder_->create(name_, O_RDWR);
  return file_.is_open();
}

bool GrowingFile::open(std::shared_ptr<const FolderFiles> folder, const std::string& name) {
  folder_ = std::move(folder);
  name_ = name;
  file_ = folder_->open(name_, O_RDWR);
  return file_.is_open();
}

bool GrowingFile::read(std::uint64_t offset, std::size_t most, std::string& bytes) const {
  return read_at(file_.number(), offset, most, bytes);
}

bool GrowingFile::is_in_place() const {
  struct stat status = {};
  return folder_->look(name_, status) && file_.is_file_of(status);
}

bool GrowingFile::go_on(std::uint64_t bytes) {
  const auto end = static_cast<off_t>(bytes);
  written_ = bytes;
  return ::ftruncate(file_.number(), end) == 0 && ::lseek(file_.number(), end, SEEK_SET) == end;
}

/// Has the file open, under another number where the program has taken that one.
bool GrowingFile::hold() {
  if (file_.is_ours()) { return true; }
  errno = EBADF;
  if (!file_.is_open()) { return false; }
  report_closed_file(folder_->path(name_));
  Descriptor again = folder_->open(name_, O_RDWR);
  if (!again.is_open()) { return false; }
  const auto end = static_cast<off_t>(written_);
  if (!again.is_same(file_) || ::lseek(again.number(), end, SEEK_SET) != end) {
    errno = ENOENT;
    return false;
  }
  file_ = std::move(again);
  return true;
}

bool GrowingFile::flush() {
  if (!buffer_.empty() && !hold()) { return false; }
  const std::size_t done = write_all(file_.number(), buffer_);
  const int why = errno;
  // What went out is not written again: the next flush goes on at the byte where this one stopped.
  buffer_.erase(0, done);
  written_ += done;
  errno = why;
  return buffer_.empty();
}

bool GrowingFile::sync() {
  // Some file systems know no fsync.
  return (hold() && ::fsync(file_.number()) == 0) || errno == EINVAL || errno == ENOTSUP;
}

}  // namespace detail
TAKT_END_NAMESPACE
