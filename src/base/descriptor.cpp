// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/descriptor.hpp"

#include "base/fault.hpp"

#include <cerrno>
#include <utility>

#include <fcntl.h>
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

// Before main(), or when the library is loaded. Zero until then: what is told earlier goes where it always went.
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
  if (::fstat(number_, &status) != 0) {  // nobody could tell later whether it is the same
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
    report_fault_once("descriptor", "the program has closed a file that is not its own (" + path +
                                        "), which is opened again; it should close the descriptors that it has "
                                        "opened, and no others");
  } catch (...) {
    // Out of memory: the file is opened again all the same.
  }
}

}  // namespace detail
TAKT_END_NAMESPACE
