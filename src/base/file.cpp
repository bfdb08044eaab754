// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/file.hpp"

#include "base/directory_files.hpp"
#include "base/report_error.hpp"
#include "base/text.hpp"

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

void close_quietly(int descriptor) noexcept {
  const int error = errno;
  ::close(descriptor);
  errno = error;
}

bool is_closed(int number) noexcept { return ::fcntl(number, F_GETFD) == -1; }

// Set before main(), or when the library is loaded. All false until then: earlier messages are written as usual.
struct StandardStreams {
  bool closed[STDERR_FILENO + 1];
};
const StandardStreams g_began_with = {{is_closed(0), is_closed(1), is_closed(2)}};

}  // namespace

bool is_file_by_chance(int number) noexcept {
  if (number < 0 || number > STDERR_FILENO || !g_began_with.closed[number]) { return false; }
  const int error = errno;
  struct stat status = {};
  const bool file =
      ::fstat(number, &status) == 0 && S_ISREG(status.st_mode) && (::fcntl(number, F_GETFL) & O_APPEND) == 0;
  errno = error;
  return file;
}

int above_standard_streams(int made) noexcept {
  if (made < 0 || made > STDERR_FILENO) { return made; }
  const int above = ::fcntl(made, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  close_quietly(made);
  return above;
}

Descriptor::Descriptor(int opened) noexcept : number_(above_standard_streams(opened)) {
  struct stat status = {};
  if (number_ < 0) { return; }
  if (::fstat(number_, &status) != 0) {  // its identity could not be checked later
    close_quietly(std::exchange(number_, -1));
    return;
  }
  device_ = status.st_dev;
  inode_ = status.st_ino;
}

Descriptor::Descriptor(Descriptor&& other) noexcept
    : number_(std::exchange(other.number_, -1)), device_(other.device_), inode_(other.inode_) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this == &other) { return *this; }
  close();
  number_ = std::exchange(other.number_, -1);
  device_ = other.device_;
  inode_ = other.inode_;
  return *this;
}

bool Descriptor::look(struct stat& status) const noexcept {
  return is_open() && ::fstat(number_, &status) == 0 && is_file_of(status);
}

bool Descriptor::is_ours() const noexcept {
  const int error = errno;
  struct stat status = {};
  const bool ours = look(status);
  errno = error;
  return ours;
}

bool Descriptor::is_file_of(const struct stat& status) const noexcept {
  return status.st_dev == device_ && status.st_ino == inode_;
}

bool Descriptor::is_same(const Descriptor& other) const noexcept {
  return device_ == other.device_ && inode_ == other.inode_;
}

void Descriptor::close() noexcept {
  if (is_ours()) { close_quietly(number_); }
  number_ = -1;
}

Descriptor Descriptor::copy() const noexcept {
  return Descriptor(is_ours() ? ::fcntl(number_, F_DUPFD_CLOEXEC, STDERR_FILENO + 1) : -1);
}

void report_closed_file(const std::string& path) noexcept {
  try {
    report_error_once("descriptor", "the program closed a file that belongs to Takt (" + path +
                                        "), which was reopened; close only descriptors that "
                                        "the program itself opened");
  } catch (...) {
    // Out of memory: the file is reopened without a report.
  }
}

namespace {

constexpr mode_t kDirectoryMode = S_IRWXU;
constexpr std::size_t kBufferBytes = std::size_t{64} << 10U;

std::string explain(const char* what, const std::string& path, const std::string& reason,
                    const char* cure = WholeFile::kUsualCure) {
  return std::string("cannot ") + what + " " + path + ": " + reason + "; " + cure;
}

/// Uses lstat to detect a symbolic link.
bool check(const std::string& path, struct stat& status) { return ::lstat(path.c_str(), &status) == 0; }

/// Adds the owner bits that a strict umask removed, so that the directory is usable. Other bits stay: on shared file
/// systems, set-group-id decides which quota is charged.
bool give_owner_bits(const std::string& path) {
  struct stat status = {};
  if (!check(path, status) || !S_ISDIR(status.st_mode)) { return false; }
  return (status.st_mode & kDirectoryMode) == kDirectoryMode ||
         ::chmod(path.c_str(), (status.st_mode & 07000U) | kDirectoryMode) == 0;
}

/// Creates one directory whose parent exists. Links are followed for parents: home and scratch directories often are
/// links.
bool make_directory(const std::string& path, std::string& error) {
  if (::mkdir(path.c_str(), kDirectoryMode) == 0) {
    if (give_owner_bits(path)) { return true; }
    error = explain("set the mode of the directory", path, reason_of(errno));
    return false;
  }
  int why = errno;
  struct stat status = {};
  if (::stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) { return true; }
    if (why == EEXIST) { why = ENOTDIR; }  // an existing file blocks the directory
  }
  error = explain("make the directory", path, reason_of(why));
  return false;
}

std::string without_trailing_slashes(const std::string& path) {
  const std::size_t last = path.find_last_not_of('/');
  return last == std::string::npos ? path.substr(0, 1) : path.substr(0, last + 1);
}

/// Renames a .part file that a killed writer left, so that it can be inspected. Fails for anything else under that
/// name: another user may have planted it to redirect the writes.
bool set_aside(const DirectoryFiles& directory, const std::string& part, std::string& reason) {
  struct stat status = {};
  if (!directory.look(part, status)) {
    if (errno == ENOENT && directory.is_open()) { return true; }
    reason = reason_of(errno);
  } else if (S_ISLNK(status.st_mode)) {
    reason = reason_of(ELOOP);
  } else if (!S_ISREG(status.st_mode)) {
    reason = reason_of(ENXIO);
  } else if (status.st_uid != ::geteuid()) {
    reason = "it belongs to another user";
  } else if (!directory.rename(part, part + ".old")) {
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
      errno = ENOSPC;  // no error and no progress: retrying could loop forever
      break;
    } else if (errno != EINTR) {
      break;
    }
  }
  return done;
}

bool read_at(int descriptor, std::uint64_t offset, std::size_t max, std::string& bytes) {
  struct stat status = {};
  if (::fstat(descriptor, &status) != 0) { return false; }
  const auto size = static_cast<std::uint64_t>(std::max<off_t>(status.st_size, 0));
  bytes.reserve(bytes.size() + std::min<std::uint64_t>(max, size - std::min(size, offset)) + kBufferBytes);
  for (std::size_t done = 0; done < max;) {
    const std::size_t had = bytes.size();
    const std::size_t wanted = std::min(max - done, kBufferBytes);
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

bool read_from(const std::string& path, std::uint64_t offset, std::size_t max, std::string& bytes) {
  return DirectoryFiles(directory_part(path)).read(name_part(path), offset, max, bytes);
}

bool may_exist(const std::string& path) noexcept {
  struct stat status = {};
  return check(path, status) || errno != ENOENT;
}

std::string path_or_in(const std::string& directory, const char* name, const std::string& path) {
  if (!path.empty()) { return path; }
  return directory.empty() ? name : directory + "/" + name;
}

std::string explain_error(const char* what, const std::string& path, int error) {
  return explain(what, path, reason_of(error));
}

bool make_directories(const std::string& path, std::string& error) {
  const std::string directory = without_trailing_slashes(path);
  if (directory.empty()) {
    error = explain("make the directory", "''", reason_of(ENOENT));
    return false;
  }
  for (std::size_t slash = directory.find('/', 1); slash != std::string::npos; slash = directory.find('/', slash + 1)) {
    if (!make_directory(directory.substr(0, slash), error)) { return false; }
  }
  struct stat status = {};
  if (check(directory, status) && S_ISLNK(status.st_mode)) {
    error = explain("use the directory", directory, "it is a symbolic link, which is not followed");
    return false;
  }
  return make_directory(directory, error);
}

WholeFile::~WholeFile() {
  if (is_open()) { flush(); }
}

bool WholeFile::fail(const char* what) {
  error_ = explain(what, path_, reason_of(errno), cure_);
  return false;
}

bool WholeFile::open(const std::string& path) {
  return open(std::make_shared<DirectoryFiles>(directory_part(path)), name_part(path));
}

bool WholeFile::open(std::shared_ptr<const DirectoryFiles> directory, const std::string& name) {
  descriptor_.close();
  buffer_.clear();
  written_ = 0;
  directory_ = std::move(directory);
  name_ = name;
  path_ = directory_->path(name);
  const std::string part = name + ".part";
  std::string reason;
  if (!set_aside(*directory_, part, reason)) {
    error_ = explain("make", path_ + ".part", reason, cure_);
    return false;
  }
  descriptor_ = directory_->create(part, O_WRONLY);
  return is_open() || fail("make the .part of");
}

/// Ensures that the .part is open; reopens it if the program closed its descriptor.
bool WholeFile::hold() {
  if (!is_open()) {
    errno = EBADF;
    return fail("write");
  }
  if (descriptor_.is_ours()) { return true; }
  report_closed_file(path_);
  Descriptor again = directory_->open(name_ + ".part", O_WRONLY);
  struct stat status = {};
  if (!again.look(status)) { return fail("reopen the .part of"); }
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
  // Keeps only unwritten bytes: the next flush continues after the last byte written.
  buffer_.erase(0, done);
  written_ += done;
  errno = why;
  return buffer_.empty() || fail("write");
}

bool WholeFile::commit() {
  if (!flush()) { return false; }
  // Without fsync, a power cut can leave an empty file under the new name. Some file systems do not support it.
  if (::fsync(descriptor_.number()) != 0 && errno != EINVAL && errno != ENOTSUP) { return fail("write"); }
  const std::string part = name_ + ".part";
  struct stat named = {};
  if (!directory_->look(part, named)) { return fail("finish"); }
  if (!descriptor_.is_file_of(named)) {
    error_ = explain("finish", path_, "another program has taken its .part away", cure_);
    return false;
  }
  if (!directory_->rename(part, name_)) { return fail("finish"); }
  descriptor_.close();
  directory_.reset();
  return true;
}

void WholeFile::discard() noexcept {
  try {
    struct stat named = {};
    const std::string part = name_ + ".part";
    if (directory_ != nullptr && directory_->look(part, named) && descriptor_.is_file_of(named)) {
      directory_->remove(part);
    }
  } catch (...) {
    // Out of memory: the .part stays, and the next open() sets it aside.
  }
  buffer_.clear();
  descriptor_.close();
  directory_.reset();
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

StreamFile::StreamFile(std::string path, const char* exporter)
    : path_(std::move(path)), directory_(std::make_shared<DirectoryFiles>(directory_part(path_))), exporter_(exporter) {
  (void)directory_->is_open();
}

ExportResult StreamFile::refuse(bool finished) {
  ++failures_;
  if (finished || failures_ == kFailuresToReport) { report_error(exporter_, file_.error()); }
  return ExportResult::retry;
}

ExportResult StreamFile::begin(std::string_view head, bool finished) {
  if (committed_) { return ExportResult::drop; }
  if (!file_.is_open()) {
    if (!file_.open(directory_, name_part(path_))) { return refuse(finished); }
  }
  if (!has_head_) { append(head); }
  has_head_ = true;
  // Refuses new text while old text is unwritten: it would grow without bound on a full disk.
  return file_.flush() ? ExportResult::ok : refuse(finished);
}

void StreamFile::append(std::string_view text) {
  if (has_tail_) { return; }
  // end() reports and counts a failure; until then the text stays in memory.
  (void)file_.write(text);
}

void StreamFile::append(std::uint64_t sequence, std::string_view text) {
  file_.make_space(text.size());
  taken_.insert(sequence);
  append(text);
}

ExportResult StreamFile::end(std::string_view tail, bool finished) {
  if (!file_.flush()) { return refuse(finished); }
  if (finished) {
    append(tail);
    has_tail_ = has_tail_ || !tail.empty();
  }
  if (finished && !file_.commit()) { return refuse(finished); }
  committed_ = finished;
  if (committed_) { directory_.reset(); }
  taken_.clear();
  failures_ = 0;
  return ExportResult::ok;
}

}  // namespace detail
TAKT_END_NAMESPACE
