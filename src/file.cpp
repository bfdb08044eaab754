// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "file.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr mode_t kFolderMode = S_IRWXU;
constexpr std::size_t kBufferBytes = std::size_t{64} << 10U;

std::string explain(const char* what, const std::string& path, const std::string& reason) {
  return std::string("cannot ") + what + " " + path + ": " + reason + "; set TAKT_DIR to a folder that can be written";
}

std::string reason_of(int error) { return std::system_category().message(error); }

/// lstat, so that a symbolic link is seen as one.
bool look_at(const std::string& path, struct stat& status) { return ::lstat(path.c_str(), &status) == 0; }

/// What mkdir made is 0700 less the umask; an umask that takes the owner's own bits too would leave a folder that cannot
/// be used. The other bits stay: on shared file systems set-group-id decides whose quota pays.
bool give_owner_bits(const std::string& path) {
  struct stat status = {};
  if (!look_at(path, status) || !S_ISDIR(status.st_mode)) { return false; }
  return (status.st_mode & kFolderMode) == kFolderMode ||
         ::chmod(path.c_str(), (status.st_mode & 07000U) | kFolderMode) == 0;
}

/// One folder whose parent is there. Links are followed for parents: a home or scratch folder is often one.
bool make_folder(const std::string& path, std::string& error) {
  if (::mkdir(path.c_str(), kFolderMode) == 0) {
    if (give_owner_bits(path)) { return true; }
    error = explain("set the mode of the folder", path, reason_of(errno));
    return false;
  }
  int why = errno;
  struct stat status = {};
  if (::stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) { return true; }
    if (why == EEXIST) { why = ENOTDIR; }  // what is there is in the way
  }
  error = explain("make the folder", path, reason_of(why));
  return false;
}

std::string without_trailing_slashes(const std::string& path) {
  const std::size_t last = path.find_last_not_of('/');
  return last == std::string::npos ? path.substr(0, 1) : path.substr(0, last + 1);
}

/// A file left by a writer that was killed is set aside, where it can be looked at; anything else under that name was
/// put there by somebody, and to go on would be to write where they want.
bool set_aside(const std::string& part, std::string& reason) {
  struct stat status = {};
  if (!look_at(part, status)) { return errno == ENOENT; }
  if (S_ISLNK(status.st_mode)) {
    reason = "it is a symbolic link, which is not followed";
  } else if (!S_ISREG(status.st_mode)) {
    reason = "it is not a file";
  } else if (status.st_uid != ::geteuid()) {
    reason = "it belongs to another user";
  } else if (::rename(part.c_str(), (part + ".old").c_str()) != 0) {
    reason = reason_of(errno);
  }
  return reason.empty();
}

}  // namespace

std::size_t write_all(int descriptor, std::string_view bytes) noexcept {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t now = ::write(descriptor, bytes.data() + done, bytes.size() - done);
    if (now > 0) {
      done += static_cast<std::size_t>(now);
    } else if (now == 0) {
      errno = ENOSPC;  // no error and no progress: trying again could go on for ever
      break;
    } else if (errno != EINTR) {
      break;
    }
  }
  return done;
}

bool read_from(const std::string& path, std::uint64_t offset, std::size_t most, std::string& bytes) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) { return false; }
  struct stat status = {};
  int why = ::fstat(file, &status) != 0 ? errno : S_ISREG(status.st_mode) ? 0 : EINVAL;
  for (std::size_t done = 0; why == 0 && done < most;) {
    const std::size_t had = bytes.size();
    const std::size_t wanted = std::min(most - done, kBufferBytes);
    bytes.resize(had + wanted);
    const ssize_t now = ::pread(file, bytes.data() + had, wanted, static_cast<off_t>(offset + done));
    bytes.resize(had + (now > 0 ? static_cast<std::size_t>(now) : 0U));
    if (now == 0) { break; }
    if (now > 0) {
      done += static_cast<std::size_t>(now);
    } else if (errno != EINTR) {
      why = errno;
    }
  }
  ::close(file);
  errno = why;
  return why == 0;
}

bool may_exist(const std::string& path) noexcept {
  struct stat status = {};
  return look_at(path, status) || errno != ENOENT;
}

std::string explain_fault(const char* what, const std::string& path, int error) {
  return explain(what, path, reason_of(error));
}

bool make_directories(const std::string& path, std::string& error) {
  const std::string folder = without_trailing_slashes(path);
  if (folder.empty()) {
    error = explain("make the folder", "''", reason_of(ENOENT));
    return false;
  }
  for (std::size_t slash = folder.find('/', 1); slash != std::string::npos; slash = folder.find('/', slash + 1)) {
    if (!make_folder(folder.substr(0, slash), error)) { return false; }
  }
  struct stat status = {};
  if (look_at(folder, status) && S_ISLNK(status.st_mode)) {
    error = explain("use the folder", folder, "it is a symbolic link, which is not followed");
    return false;
  }
  return make_folder(folder, error);
}

WholeFile::~WholeFile() {
  if (!is_open()) { return; }
  flush();
  ::close(descriptor_);
}

bool WholeFile::fail(const char* what) {
  error_ = explain(what, path_, reason_of(errno));
  return false;
}

bool WholeFile::open(const std::string& path) {
  if (is_open()) { ::close(descriptor_); }
  descriptor_ = -1;
  buffer_.clear();
  path_ = path;
  const std::string part = path + ".part";
  std::string reason;
  if (!set_aside(part, reason)) {
    error_ = explain("make", part, reason);
    return false;
  }
  descriptor_ = ::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kFileMode);
  if (!is_open()) { return fail("make the .part of"); }
  // The umask may have taken the owner's own bits away.
  return ::fchmod(descriptor_, kFileMode) == 0 || fail("set the mode of");
}

bool WholeFile::write(std::string_view bytes) {
  buffer_.append(bytes);
  return buffer_.size() < kBufferBytes || flush();
}

bool WholeFile::flush() {
  if (!is_open()) {
    errno = EBADF;
    return fail("write");
  }
  const std::size_t done = write_all(descriptor_, buffer_);
  const int why = errno;
  // What went out is not sent again: the next flush goes on at the byte where this one stopped.
  buffer_.erase(0, done);
  errno = why;
  return buffer_.empty() || fail("write");
}

bool WholeFile::commit() {
  if (!flush()) { return false; }
  // Without this, a power cut can leave the new name with nothing in it. Some file systems know no fsync.
  if (::fsync(descriptor_) != 0 && errno != EINVAL && errno != ENOTSUP) { return fail("write"); }
  const std::string part = path_ + ".part";
  struct stat ours = {};
  struct stat named = {};
  if (::fstat(descriptor_, &ours) != 0 || !look_at(part, named)) { return fail("finish"); }
  if (ours.st_dev != named.st_dev || ours.st_ino != named.st_ino) {
    error_ = explain("finish", path_, "another program has taken its .part away");
    return false;
  }
  if (::rename(part.c_str(), path_.c_str()) != 0) { return fail("finish"); }
  ::close(descriptor_);
  descriptor_ = -1;
  return true;
}

}  // namespace detail
TAKT_END_NAMESPACE
