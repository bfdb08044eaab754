// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/directory_files.hpp"

#include "base/file.hpp"

#include <cerrno>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr int kDirectoryFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

bool check_name(std::string_view name) noexcept {
  if (is_entry_name(name)) { return true; }
  errno = EINVAL;
  return false;
}

}  // namespace

bool is_entry_name(std::string_view name) noexcept {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

std::string directory_part(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) { return "."; }
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string name_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

DirectoryFiles::DirectoryFiles(std::string path) : path_(std::move(path)) {}

DirectoryFiles DirectoryFiles::directory(const std::string& name) const {
  DirectoryFiles inner;
  inner.path_ = path(name);
  inner.follows_ = false;
  inner.was_open_ = true;  // opened now or never: the path may lead elsewhere later
  const int here = at();
  if (here >= 0 && check_name(name)) {
    inner.descriptor_ = Descriptor(::openat(here, name.c_str(), kDirectoryFlags | O_NOFOLLOW));
  }
  if (!inner.descriptor_.is_open()) { inner.why_closed_ = errno; }
  return inner;
}

int DirectoryFiles::open_directory() const {
  return ::open(path_.c_str(), kDirectoryFlags | (follows_ ? 0 : O_NOFOLLOW));
}

/// Reopens the directory if the program closed its descriptor. A different directory at the path counts as missing.
int DirectoryFiles::at() const {
  if (descriptor_.is_ours()) { return descriptor_.number(); }
  if (path_.empty() || (was_open_ && !descriptor_.is_open())) {
    errno = why_closed_;
    return -1;
  }
  Descriptor again(open_directory());
  if (!again.is_open()) { return -1; }
  if (was_open_ && !again.is_same(descriptor_)) {
    errno = ENOENT;
    return -1;
  }
  was_open_ = true;
  descriptor_ = std::move(again);
  return descriptor_.number();
}

std::string DirectoryFiles::current_path() const {
  struct stat status = {};
  const int here = at();
  if (here < 0 || (::stat(path_.c_str(), &status) == 0 && descriptor_.is_file_of(status))) { return path_; }
  char moved[PATH_MAX];
  const ssize_t size = ::readlink(("/proc/self/fd/" + std::to_string(here)).c_str(), moved, sizeof moved);
  if (size <= 0 || size == sizeof moved) { return path_; }
  std::string path(moved, static_cast<std::size_t>(size));
  return ::stat(path.c_str(), &status) == 0 && descriptor_.is_file_of(status) ? path : path_;
}

Descriptor DirectoryFiles::open(const std::string& name, int flags) const {
  struct stat status = {};
  if (!look(name, status)) { return Descriptor(); }
  if (!S_ISREG(status.st_mode)) {  // checked before open(), which alone can trigger a device
    errno = S_ISLNK(status.st_mode) ? ELOOP : ENXIO;
    return Descriptor();
  }
  Descriptor file(::openat(at(), name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (file.is_open() && !file.is_file_of(status)) {  // replaced since look()
    errno = ENOENT;
    return Descriptor();
  }
  return file;
}

Descriptor DirectoryFiles::create(const std::string& name, int flags) const {
  const int here = at();
  if (here < 0 || !check_name(name)) { return Descriptor(); }
  Descriptor file(::openat(here, name.c_str(), flags | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kFileMode));
  // The umask may have removed owner bits.
  if (file.is_open() && ::fchmod(file.number(), kFileMode) != 0) {
    const int why = errno;
    ::unlinkat(here, name.c_str(), 0);
    file.close();
    errno = why;
  }
  return file;
}

bool DirectoryFiles::read(const std::string& name, std::uint64_t offset, std::size_t max, std::string& bytes) const {
  const Descriptor file = open(name, O_RDONLY);
  return file.is_open() && read_at(file.number(), offset, max, bytes);
}

bool DirectoryFiles::look(const std::string& name, struct stat& status) const {
  const int here = at();
  return here >= 0 && check_name(name) && ::fstatat(here, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
}

bool DirectoryFiles::may_exist(const std::string& name) const {
  struct stat status = {};
  return look(name, status) || errno != ENOENT;
}

std::vector<std::string> DirectoryFiles::names() const {
  std::vector<std::string> found;
  const int here = at();
  Descriptor listing(here < 0 ? -1 : ::openat(here, ".", kDirectoryFlags));  // with its own read position
  DIR* const directory = listing.is_open() ? ::fdopendir(listing.number()) : nullptr;
  if (directory == nullptr) { return found; }
  for (const dirent* entry = ::readdir(directory); entry != nullptr; entry = ::readdir(directory)) {
    if (is_entry_name(entry->d_name)) { found.emplace_back(entry->d_name); }
  }
  listing.forget();
  ::closedir(directory);
  return found;
}

bool DirectoryFiles::make_directory(const std::string& name) const {
  struct stat status = {};
  const int here = at();
  if (here < 0 || !check_name(name) || ::mkdirat(here, name.c_str(), S_IRWXU) != 0 || !look(name, status)) {
    return false;
  }
  // The umask may have removed owner bits.
  return (status.st_mode & S_IRWXU) == S_IRWXU ||
         ::fchmodat(here, name.c_str(), (status.st_mode & 07000U) | S_IRWXU, 0) == 0;
}

bool DirectoryFiles::rename(const std::string& from, const std::string& to) const {
  const int here = at();
  return here >= 0 && check_name(from) && check_name(to) && ::renameat(here, from.c_str(), here, to.c_str()) == 0;
}

bool DirectoryFiles::remove(const std::string& name) const {
  const int here = at();
  return here >= 0 && check_name(name) && ::unlinkat(here, name.c_str(), 0) == 0;
}

bool DirectoryFiles::link(const Descriptor& file, const std::string& name) const {
  const int here = at();
  if (here < 0 || !check_name(name)) { return false; }
  // Links through /proc because the name may refer to another file by now.
  const std::string number = "/proc/self/fd/" + std::to_string(file.number());
  return ::linkat(AT_FDCWD, number.c_str(), here, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
}

}  // namespace detail
TAKT_END_NAMESPACE
