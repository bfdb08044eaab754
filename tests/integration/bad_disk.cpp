// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Preloaded, it is a bad disk, as BAD_DISK says. Each call that went wrong leaves a byte in the file that
// BAD_DISK_SIGN names.
//   count   nothing goes wrong: each write() to a journal leaves a byte
//   hang    never confirms anything: fdatasync() does not come back
//   sync    does not confirm: the first fdatasync() fails with EIO, those after it do not
//   write   the third write() to a journal fails with EIO
//   full    has no room (ENOSPC) for the third write() to a journal and those after it, until 40 were refused
//   half    the third write() to a journal ends half way, and the next fails with EIO; nor can the half be cut off
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

namespace {

bool is_so(const char* mode) {
  const char* const asked = std::getenv("BAD_DISK");
  return asked != nullptr && std::strcmp(asked, mode) == 0;
}

using Write = ssize_t (*)(int, const void*, std::size_t);

ssize_t real_write(int file, const void* bytes, std::size_t count) {
  static const auto real = reinterpret_cast<Write>(::dlsym(RTLD_NEXT, "write"));
  return real(file, bytes, count);
}

/// Returns false where that cannot be done; then nothing goes wrong, and the test notices.
bool leave_sign() {
  const char* const name = std::getenv("BAD_DISK_SIGN");
  const int file = name == nullptr ? -1 : ::open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) { return false; }
  const bool done = real_write(file, "x", 1) == 1;
  ::close(file);
  return done;
}

int fail(int error = EIO) {
  if (!leave_sign()) { return 0; }
  errno = error;
  return -1;
}

bool is_journal(int file) {
  char link[64];
  char path[4096];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = ::readlink(link, path, sizeof path - 1);
  if (length < 0) { return false; }
  path[length] = '\0';
  return std::strstr(path, "/journal-") != nullptr;
}

}  // namespace

extern "C" int fdatasync(int file) {
  static std::atomic<int> calls{0};
  if (is_so("hang") && leave_sign()) {
    for (;;) { ::pause(); }
  }
  if (is_so("sync") && ++calls == 1) { return fail(); }
  return ::fsync(file);
}

extern "C" ssize_t write(int file, const void* bytes, std::size_t count) {
  static std::atomic<int> calls{0};
  if (is_so("count") && is_journal(file)) { leave_sign(); }
  const bool half = is_so("half");
  const bool full = is_so("full");
  if ((!half && !full && !is_so("write")) || !is_journal(file)) { return real_write(file, bytes, count); }
  const int call = ++calls;
  if (full) { return call >= 3 && call < 43 && fail(ENOSPC) != 0 ? -1 : real_write(file, bytes, count); }
  if (call == 3 && half) { return real_write(file, bytes, count / 2); }
  if (call == (half ? 4 : 3) && fail() != 0) { return -1; }
  return real_write(file, bytes, count);
}

extern "C" int ftruncate(int file, off_t length) {
  static const auto real = reinterpret_cast<int (*)(int, off_t)>(::dlsym(RTLD_NEXT, "ftruncate"));
  return is_so("half") && is_journal(file) ? fail() : real(file, length);
}
