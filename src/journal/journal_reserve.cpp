// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "journal/journal_reserve.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr off_t kReserveBytes = off_t{128} << 10U;  // the totals of some 50 places in the tree

}  // namespace

void JournalReserve::take(const std::string& directory) noexcept {
  if (tried_) { return; }
  tried_ = true;
  rlimit limit = {};  // beyond it the kernel would end the program
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur < static_cast<rlim_t>(kReserveBytes)) { return; }
  file_ = Descriptor(::open(directory.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, S_IRUSR | S_IWUSR));
  // Not posix_fallocate(), which would write zeros where the file system cannot.
  if (file_.is_open() && ::fallocate(file_.number(), 0, 0, kReserveBytes) != 0) { file_.close(); }
}

bool JournalReserve::give() noexcept {
  const bool ours = file_.is_ours();
  file_.close();
  return ours;
}

}  // namespace detail
TAKT_END_NAMESPACE
