// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "trackers/tracker_files.hpp"

#include "base/file.hpp"
#include "base/other_process.hpp"
#include "base/report_error.hpp"
#include "base/text.hpp"

#include <cerrno>
#include <climits>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

std::string this_host() {
  char host[HOST_NAME_MAX + 1] = {};
  if (::gethostname(host, HOST_NAME_MAX) != 0) { host[0] = '?'; }
  return host;
}

/// Returns "<host> <pid> <PID namespace> <boot> <start> <image>"; earlier versions write and read fewer fields.
std::string this_process() {
  const ProcessMark mark = process_mark();
  std::string text = this_host();
  for (const std::optional<std::uint64_t>& each :
       {std::optional<std::uint64_t>(::getpid()), pid_namespace(), mark.boot, mark.start, mark.image}) {
    text += " " + std::to_string(each.value_or(0));
  }
  return text + "\n";
}

bool is_same(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

std::int64_t time_of(const struct stat& status) { return status.st_mtim.tv_sec * kSecondNs + status.st_mtim.tv_nsec; }

/// Returns the time by the clock that timestamps files in `directory`, which may differ by minutes from this machine's.
/// \param name of a temporary file there. 0: unknown.
std::int64_t now_in(const DirectoryFiles& directory, const std::string& name) {
  struct stat status = {};
  const Descriptor file = directory.create(name, O_WRONLY);
  if (!file.is_open()) { return 0; }
  const bool known = file.look(status);
  directory.remove(name);
  return known ? time_of(status) : 0;
}

std::string first_bytes(const Descriptor& file) {
  char text[512];
  const ssize_t count = ::pread(file.number(), text, sizeof text, 0);
  return {text, count > 0 ? static_cast<std::size_t>(count) : 0U};
}

}  // namespace

bool FileLease::take(const std::string& file) {
  return take(std::make_shared<DirectoryFiles>(directory_part(file)), name_part(file));
}

bool FileLease::take(std::shared_ptr<const DirectoryFiles> directory, const std::string& name) {
  directory_ = std::move(directory);
  name_ = name;
  broken_ = false;
  for (int round = 0; round < 2; ++round) {
    descriptor_ = directory_->create(name_, O_RDWR);
    if (held()) {
      write_all(descriptor_.number(), this_process());
      problem_.clear();
      touched_ = std::chrono::steady_clock::now();
      return true;
    }
    if (errno != EEXIST) {
      problem_ = explain_error("make", directory_->path(name_), errno);
      broken_ = true;
      return false;
    }
    Seen seen;
    if (!is_stale(seen)) { return false; }
    if (!remove(seen)) { break; }
  }
  problem_ = "another process was faster";
  return false;
}

/// Returns a file name that no other process uses.
std::string FileLease::own_name() const {
  return name_ + "." + this_host() + "." + std::to_string(::getpid()) + "." +
         std::to_string(reinterpret_cast<std::uintptr_t>(this));
}

std::int64_t FileLease::directory_now_ns() const {
  struct stat status = {};
  ::futimens(descriptor_.number(), nullptr);
  return descriptor_.look(status) ? time_of(status) : 0;
}

/// Removes the lease that was `seen`, and no other: another process that saw it, too, may have replaced it. Returns
/// whether a new lease can be created.
bool FileLease::remove(const Seen& seen) const {
  const std::string aside = own_name();
  if (!directory_->rename(name_, aside)) { return errno == ENOENT; }
  // Compares inode, time and content: inodes are reused, and times have steps of milliseconds.
  struct stat moved = {};
  const Descriptor file = directory_->open(aside, O_RDONLY);
  if (file.look(moved) && is_same(moved, seen.status) && time_of(moved) == time_of(seen.status) &&
      first_bytes(file) == seen.text) {
    directory_->remove(aside);
    return true;
  }
  directory_->rename(aside, name_);
  return false;
}

bool FileLease::is_stale(Seen& seen) {
  const Descriptor file = directory_->open(name_, O_RDONLY);
  if (!file.look(seen.status)) {
    const bool gone = errno == ENOENT;  // released meanwhile
    if (!gone) {
      problem_ = explain_error("read", directory_->path(name_), errno);
      broken_ = true;
    }
    return gone;
  }
  seen.text = first_bytes(file);
  const std::string& text = seen.text;
  const std::size_t blank = text.find(' ');
  const std::string host = text.substr(0, blank);
  std::istringstream numbers(blank == std::string::npos ? "" : text.substr(blank));
  std::int64_t pid = 0;
  numbers >> pid;
  const auto next = [&numbers] {  // 0: unknown
    std::uint64_t number = 0;
    return numbers >> number && number != 0 ? std::optional(number) : std::nullopt;
  };
  const std::optional<std::uint64_t> names = next();
  const ProcessMark mark = {next(), next(), next()};
  const std::int64_t sign = time_of(seen.status);
  const Life life = life_of(host, pid, sign, names, mark);
  if (life == Life::gone) { return true; }
  const std::int64_t now = now_in(*directory_, own_name());
  const std::int64_t age = now == 0 ? 0 : (now - sign) / kSecondNs;
  if (text.empty()) {  // the process has not written its name yet, or was killed before
    problem_ = "a process is about to deliver it (" + directory_->path(name_) +
               "); if that process has ended, the lease expires in " + std::to_string(kRefresh.count()) + " s";
    return age > kRefresh.count();
  }
  if (life == Life::unknown && age > kStale.count()) { return true; }
  problem_ = "process " + std::to_string(pid) + " on " + host + " is delivering it (" + directory_->path(name_) +
             ", touched " + std::to_string(age) + " s ago)";
  return false;
}

/// Returns whether the lease is still ours. If the program closed the descriptor and reused its number, reopens the
/// file.
bool FileLease::is_ours() {
  if (!descriptor_.is_ours()) {
    report_closed_file(directory_->path(name_));
    Descriptor again = directory_->open(name_, O_RDWR);
    if (!again.is_open() || !again.is_same(descriptor_) || first_bytes(again) != this_process()) { return false; }
    descriptor_ = std::move(again);
  }
  struct stat named = {};
  return directory_->look(name_, named) && descriptor_.is_file_of(named);
}

bool FileLease::refresh() {
  if (!held()) { return false; }
  const auto now = std::chrono::steady_clock::now();
  if (now - touched_ < kRefresh) { return true; }
  if (!confirm()) {
    descriptor_.close();
    return false;
  }
  touched_ = now;
  ::futimens(descriptor_.number(), nullptr);
  return true;
}

bool FileLease::confirm() {
  if (held() && is_ours()) { return true; }
  if (held()) {
    problem_ = "another process took over the lease, because this one sent no heartbeat";
  } else if (problem_.empty()) {
    problem_ = "this process does not hold the lease";
  }
  touched_ = {};
  return false;
}

void FileLease::release() noexcept {
  if (!held()) { return; }
  try {
    if (is_ours()) { directory_->remove(name_); }
  } catch (...) {
    // Out of memory: the lease expires once this process has ended.
  }
  descriptor_.close();
  directory_.reset();
}

void CursorFile::keep(const std::string& file, FileLease* lease) {
  keep(std::make_shared<DirectoryFiles>(directory_part(file)), name_part(file), lease);
}

void CursorFile::keep(std::shared_ptr<const DirectoryFiles> directory, const std::string& name, FileLease* lease) {
  directory_ = std::move(directory);
  name_ = name;
  lease_ = lease;
}

std::shared_ptr<const DirectoryFiles> CursorFile::directory_at(const std::string& directory) const {
  return is_kept() && directory_->path() == directory ? directory_ : std::make_shared<DirectoryFiles>(directory);
}

bool CursorFile::save(std::string text) {
  if (text == saved_) { return true; }
  if (lease_ != nullptr && !lease_->confirm()) {
    problem_ = lease_->problem();
    return false;
  }
  WholeFile file;
  if (!file.open(directory_, name_) || !file.write(text) || !file.commit()) {
    problem_ = file.error();
    return false;
  }
  saved_ = std::move(text);
  problem_.clear();
  return true;
}

bool GrowingFile::create(std::shared_ptr<const DirectoryFiles> directory, const std::string& name) {
  directory_ = std::move(directory);
  name_ = name;
  file_ = directory_->create(name_, O_RDWR);
  return file_.is_open();
}

bool GrowingFile::open(std::shared_ptr<const DirectoryFiles> directory, const std::string& name) {
  directory_ = std::move(directory);
  name_ = name;
  file_ = directory_->open(name_, O_RDWR);
  return file_.is_open();
}

bool GrowingFile::read(std::uint64_t offset, std::size_t max, std::string& bytes) const {
  return read_at(file_.number(), offset, max, bytes);
}

bool GrowingFile::is_in_place() const {
  struct stat status = {};
  return directory_->look(name_, status) && file_.is_file_of(status);
}

bool GrowingFile::go_on(std::uint64_t bytes) {
  const auto end = static_cast<off_t>(bytes);
  written_ = bytes;
  return ::ftruncate(file_.number(), end) == 0 && ::lseek(file_.number(), end, SEEK_SET) == end;
}

/// Ensures that the file is open, under another number if the program reused that one.
bool GrowingFile::hold() {
  if (file_.is_ours()) { return true; }
  errno = EBADF;
  if (!file_.is_open()) { return false; }
  report_closed_file(directory_->path(name_));
  Descriptor again = directory_->open(name_, O_RDWR);
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
  // Written bytes are not written again: the next flush continues where this one stopped.
  buffer_.erase(0, done);
  written_ += done;
  errno = why;
  return buffer_.empty();
}

bool GrowingFile::sync() {
  // Some file systems do not support fsync.
  return (hold() && ::fsync(file_.number()) == 0) || errno == EINVAL || errno == ENOTSUP;
}

bool Backlog::write(const std::string& place) {
  if (given_up_) { return false; }
  if (file_.backlog() == 0 || file_.flush()) { return true; }
  const std::string why = fault_("write", place, errno);
  if (file_.backlog() > max_) {
    give_up(place, why);
  } else {
    report_error_once(tracker_.cause("write ") + place, why + ". Missing data is buffered and written later");
  }
  return false;
}

void Backlog::give_up(const std::string& place, const std::string& why) {
  given_up_ = true;
  file_.discard();
  report_error_once(tracker_.cause("stopped ") + place,
                    why + ". Nothing more is written for " + tracker_.title + "; the run continues" + cure_);
}

namespace {

constexpr std::string_view kTimeLineHead = R"({"displayTimeUnit":"ms","traceEvents":[)";

}  // namespace

Descriptor open_time_line(const DirectoryFiles& directory, const std::string& name) {
  Descriptor file = directory.open(name, O_RDONLY);
  std::string head;
  if (!file.is_open() || !read_at(file.number(), 0, kTimeLineHead.size(), head)) { return Descriptor(); }
  if (head == kTimeLineHead) { return file; }
  errno = ENOEXEC;
  return Descriptor();
}

}  // namespace detail
TAKT_END_NAMESPACE
