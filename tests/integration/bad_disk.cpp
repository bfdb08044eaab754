// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Preloaded, it fakes a bad disk as selected by BAD_DISK. Each failed call appends a byte to the file BAD_DISK_SIGN.
//   count   no failure: each write() to a journal appends a byte
//   hang    fdatasync() never returns
//   sync    the first fdatasync() fails with EIO, later ones succeed
//   write   the third write() to a journal fails with EIO
//   full    the third write() to a journal and later ones fail with ENOSPC, 40 times in total
//   half    the third write() to a journal is partial, the next fails with EIO, and truncating the file fails, too
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

/// Appends a byte to BAD_DISK_SIGN. Returns false if it cannot; then the disk works, which the test detects.
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
