// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "journal/journal_segment.hpp"

#include "base/file.hpp"
#include "journal/journal_format.hpp"

#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace detail {

bool JournalSegment::fail(const char* what, int error) {
  error_ = explain_fault(what, path_, error);
  return false;
}

bool JournalSegment::open(const FolderFiles& folder, std::uint32_t number) {
  close();
  name_ = segment_name(number);
  path_ = folder.path(name_);
  bytes_ = 0;
  descriptor_ = folder.create(name_, O_WRONLY | O_APPEND);
  return is_open() || fail("make", errno);
}

bool JournalSegment::append(std::string_view bytes) {
  if (!is_ours()) { return fail("write", EBADF); }
  const std::size_t done = write_all(descriptor_.number(), bytes);
  if (done == bytes.size()) {
    bytes_ += done;
    return true;
  }
  const int why = errno;
  // Where this fails a reader steps over what is left.
  if (done != 0 && ::ftruncate(descriptor_.number(), static_cast<off_t>(bytes_)) != 0) { bytes_ += done; }
  return fail("write", why);
}

void JournalSegment::close() noexcept { descriptor_.close(); }

void JournalSegment::remove(const FolderFiles& folder) noexcept {
  struct stat named = {};
  const bool ours = folder.look(name_, named) && descriptor_.is_file_of(named);
  close();
  if (ours) { folder.remove(name_); }
}

bool JournalSegment::is_whole() const noexcept {
  struct stat status = {};
  return descriptor_.look(status) && status.st_nlink != 0 && static_cast<std::size_t>(status.st_size) == bytes_;
}

}  // namespace detail
TAKT_END_NAMESPACE
