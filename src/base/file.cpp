// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/file.hpp"

#include "base/folder_files.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr mode_t kFolderMode = S_IRWXU;
constexpr std::size_t kBufferBytes = std::size_t{64} << 10U;

std::string explain(const char* what, const std::string& path, const std::string& reason,
                    const char* cure = WholeFile::kUsualCure) {
  return std::string("cannot ") + what + " " + path + ": " + reason + "; " + cure;
}

/// lstat, so that a symbolic link is seen as one.
bool look_at(const std::string& path, struct stat& status) { return ::lstat(path.c_str(), &status) == 0; }

/// What mkdir made is 0700 less the umask; an umask that takes the owner's own bits too would leave a folder that
/// cannot be used. The other bits stay: on shared file systems set-group-id decides whose quota pays.
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
bool set_aside(const FolderFiles& folder, const std::string& part, std::string& reason) {
  struct stat status = {};
  if (!folder.look(part, status)) {
    if (errno == ENOENT && folder.is_open()) { return true; }
    reason = reason_of(errno);
  } else if (S_ISLNK(status.st_mode)) {
    reason = reason_of(ELOOP);
  } else if (!S_ISREG(status.st_mode)) {
    reason = reason_of(ENXIO);
  } else if (status.st_uid != ::geteuid()) {
    reason = "it belongs to another user";
  } else if (!folder.rename(part, part + ".old")) {
    reason = reason_of(errno);
  }
  return reason.empty();
}

}  // namespace

std::string reason_of(int error) {
  if (error == ELOOP) { return "it is a symbolic link, which is not followed"; }
  if (error == ENXIO) { return "it is not a file"; }
  const std::string reason = std::system_category().message(error);
  return error == EMFILE ? reason + " (`ulimit -n` allows more)" : reason;
}

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

bool read_at(int descriptor, std::uint64_t offset, std::size_t most, std::string& bytes) {
  struct stat status = {};
  if (::fstat(descriptor, &status) != 0) { return false; }
  const auto size = static_cast<std::uint64_t>(std::max<off_t>(status.st_size, 0));
  bytes.reserve(bytes.size() + std::min<std::uint64_t>(most, size - std::min(size, offset)) + kBufferBytes);
  for (std::size_t done = 0; done < most;) {
    const std::size_t had = bytes.size();
    const std::size_t wanted = std::min(most - done, kBufferBytes);
    bytes.resize(had + wanted);
    const ssize_t now = ::pread(descriptor, bytes.data() + had, wanted, static_cast<off_t>(offset + done));
    bytes.resize(had + (now > 0 ? static_cast<std::size_t>(now) : 0U));
    if (now == 0) { break; }
    if (now > 0) {
      done += static_cast<std::size_t>(now);
    } else if (errno != EINTR) {
      return false;
    }
  }
  errno = 0;
  return true;
}

bool read_from(const std::string& path, std::uint64_t offset, std::size_t most, std::string& bytes) {
  return FolderFiles(folder_part(path)).read(name_part(path), offset, most, bytes);
}

bool may_exist(const std::string& path) noexcept {
  struct stat status = {};
  return look_at(path, status) || errno != ENOENT;
}

std::string path_or_in(const std::string& folder, const char* name, const std::string& path) {
  if (!path.empty()) { return path; }
  return folder.empty() ? name : folder + "/" + name;
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
  if (is_open()) { flush(); }
}

bool WholeFile::fail(const char* what) {
  error_ = explain(what, path_, reason_of(errno), cure_);
  return false;
}

bool WholeFile::open(const std::string& path) {
  return open(std::make_shared<FolderFiles>(folder_part(path)), name_part(path));
}

bool WholeFile::open(std::shared_ptr<const FolderFiles> folder, const std::string& name) {
  descriptor_.close();
  buffer_.clear();
  written_ = 0;
  folder_ = std::move(folder);
  name_ = name;
  path_ = folder_->path(name);
  const std::string part = name + ".part";
  std::string reason;
  if (!set_aside(*folder_, part, reason)) {
    error_ = explain("make", path_ + ".part", reason, cure_);
    return false;
  }
  descriptor_ = folder_->create(part, O_WRONLY);
  return is_open() || fail("make the .part of");
}

/// Has the .part open, under another number where the program has taken that one.
bool WholeFile::hold() {
  if (!is_open()) {
    errno = EBADF;
    return fail("write");
  }
  if (descriptor_.is_ours()) { return true; }
  report_closed_file(path_);
  Descriptor again = folder_->open(name_ + ".part", O_WRONLY);
  struct stat status = {};
  if (!again.look(status)) { return fail("go on with the .part of"); }
  const auto end = static_cast<off_t>(written_);
  if (!again.is_same(descriptor_) || status.st_size < end || ::lseek(again.number(), end, SEEK_SET) != end) {
    error_ = explain("write", path_, "another program has taken its .part away", cure_);
    return false;
  }
  descriptor_ = std::move(again);
  return true;
}

bool WholeFile::write(std::string_view bytes) {
  buffer_.append(bytes);
  return buffer_.size() < kBufferBytes || flush();
}

bool WholeFile::flush() {
  if (!hold()) { return false; }
  const std::size_t done = write_all(descriptor_.number(), buffer_);
  const int why = errno;
  // What went out is not sent again: the next flush goes on at the byte where this one stopped.
  buffer_.erase(0, done);
  written_ += done;
  errno = why;
  return buffer_.empty() || fail("write");
}

bool WholeFile::commit() {
  if (!flush()) { return false; }
  // Without this, a power cut can leave the new name with nothing in it. Some file systems know no fsync.
  if (::fsync(descriptor_.number()) != 0 && errno != EINVAL && errno != ENOTSUP) { return fail("write"); }
  const std::string part = name_ + ".part";
  struct stat named = {};
  if (!folder_->look(part, named)) { return fail("finish"); }
  if (!descriptor_.is_file_of(named)) {
    error_ = explain("finish", path_, "another program has taken its .part away", cure_);
    return false;
  }
  if (!folder_->rename(part, name_)) { return fail("finish"); }
  descriptor_.close();
  folder_.reset();
  return true;
}

void WholeFile::discard() noexcept {
  try {
    struct stat named = {};
    const std::string part = name_ + ".part";
    if (folder_ != nullptr && folder_->look(part, named) && descriptor_.is_file_of(named)) { folder_->remove(part); }
  } catch (...) {
    // Out of memory: the .part stays, and is set aside by the next one.
  }
  buffer_.clear();
  descriptor_.close();
  folder_.reset();
}

bool write_whole(const std::string& path, const std::function<bool(WholeFile&)>& write, std::string& error,
                 const char* cure) {
  WholeFile file(cure);
  if (!file.open(path)) {
    error = file.error();
    return false;
  }
  try {
    if (write(file) && file.commit()) { return true; }
    error = file.error();
  } catch (const std::bad_alloc&) {
    file.discard();
    throw;
  }
  file.discard();
  return false;
}

}  // namespace detail
TAKT_END_NAMESPACE
