// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "journal/journal_file.hpp"

#include "base/file.hpp"
#include "base/report_error.hpp"
#include "base/text.hpp"
#include "base/threads.hpp"
#include "journal/journal_format.hpp"

#include <cerrno>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr off_t kReserveBytes = off_t{128} << 10U;  // enough for the totals of about 50 paths

}  // namespace

void JournalReserve::take(const std::string& directory) noexcept {
  if (tried_) { return; }
  tried_ = true;
  rlimit limit = {};  // a larger write would end the program by a signal
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur < static_cast<rlim_t>(kReserveBytes)) { return; }
  file_ = Descriptor(::open(directory.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, S_IRUSR | S_IWUSR));
  // Not posix_fallocate(), which writes zeros if the file system does not support it.
  if (file_.is_open() && ::fallocate(file_.number(), 0, 0, kReserveBytes) != 0) { file_.close(); }
}

bool JournalReserve::give() noexcept {
  const bool ours = file_.is_ours();
  file_.close();
  return ours;
}

struct JournalSync::State {
  void write_all_through() noexcept;
  void write_through() noexcept;

  std::string directory;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Descriptor> waiting;
  std::vector<Descriptor> under_way;
  bool busy = false;
  bool failed = false;
};

/// Needs no lock: only the thread that set `busy` accesses `under_way`.
void JournalSync::State::write_through() noexcept {
  int error = 0;
  for (const Descriptor& each : under_way) {
    if (each.is_ours() && ::fdatasync(each.number()) != 0 && errno != EINVAL && errno != ENOTSUP && errno != EROFS) {
      error = errno;
    }
  }
  under_way.clear();
  {
    const Descriptor opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (opened.is_open()) { ::fsync(opened.number()); }  // some file systems do not support it for directories
  }
  if (error != 0) {
    try {
      report_error("journal.sync", explain_error("sync", directory, error));
    } catch (const std::bad_alloc&) {
      // Only the report suffers; the next export starts a new file in any case.
      report_error("journal.sync", Words("cannot sync ", directory));
    }
  }
  const std::lock_guard<std::mutex> lock(mutex);
  failed = failed || error != 0;
}

/// Repeats for files added meanwhile: at the end of a run, start() is not called again.
void JournalSync::State::write_all_through() noexcept {
  for (;;) {
    write_through();
    const std::lock_guard<std::mutex> lock(mutex);
    if (!waiting.empty()) {
      under_way.swap(waiting);
      continue;
    }
    busy = false;
    return changed.notify_all();
  }
}

void JournalSync::run(void* share) {
  const std::unique_ptr<std::shared_ptr<State>> state(static_cast<std::shared_ptr<State>*>(share));
  (*state)->write_all_through();
}

JournalSync::JournalSync(std::string directory, bool threads) : state_(std::make_shared<State>()), threads_(threads) {
  state_->directory = std::move(directory);
}

void JournalSync::adopt(Descriptor file) noexcept {
  if (!threads_) { return; }
  const std::lock_guard<std::mutex> lock(state_->mutex);
  try {
    state_->waiting.push_back(std::move(file));
  } catch (const std::bad_alloc&) {
    // Out of memory: the kernel writes the file to disk later.
  }
}

void JournalSync::start(int descriptor) noexcept {
  if (!threads_) { return; }
  const std::lock_guard<std::mutex> lock(state_->mutex);
  if (state_->busy) { return; }
  state_->under_way.swap(state_->waiting);
  Descriptor copy(descriptor < 0 ? -1 : ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
  if (copy.is_open()) {
    try {
      state_->under_way.push_back(std::move(copy));
    } catch (const std::bad_alloc&) {
      // Out of memory: the kernel writes the file to disk later.
    }
  }
  if (state_->under_way.empty()) { return; }
  // Its own reference, because the thread may outlive this object.
  auto* const share = new (std::nothrow) std::shared_ptr<State>(state_);
  state_->busy = share != nullptr && start_background("takt-sync", &run, share);
  if (!state_->busy) { delete share; }
  // Without a thread, the kernel writes the data to disk, usually within half a minute.
  if (!state_->busy) { state_->under_way.clear(); }
}

bool JournalSync::take_failure() noexcept {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return std::exchange(state_->failed, false);
}

void JournalSync::wait(std::chrono::milliseconds max) {
  std::unique_lock<std::mutex> lock(state_->mutex);
  state_->changed.wait_for(lock, max, [this] { return !state_->busy; });
}

bool JournalSegment::fail(const char* what, int error) {
  error_ = explain_error(what, path_, error);
  return false;
}

bool JournalSegment::open(const DirectoryFiles& directory, std::uint32_t number) {
  close();
  name_ = segment_name(number);
  path_ = directory.path(name_);
  bytes_ = 0;
  descriptor_ = directory.create(name_, O_WRONLY | O_APPEND);
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
  // If truncating fails too, readers skip the partial frame.
  if (done != 0 && ::ftruncate(descriptor_.number(), static_cast<off_t>(bytes_)) != 0) { bytes_ += done; }
  return fail("write", why);
}

void JournalSegment::close() noexcept { descriptor_.close(); }

void JournalSegment::remove(const DirectoryFiles& directory) noexcept {
  struct stat named = {};
  const bool ours = directory.look(name_, named) && descriptor_.is_file_of(named);
  close();
  if (ours) { directory.remove(name_); }
}

bool JournalSegment::is_whole() const noexcept {
  struct stat status = {};
  return descriptor_.look(status) && status.st_nlink != 0 && static_cast<std::size_t>(status.st_size) == bytes_;
}

}  // namespace detail
TAKT_END_NAMESPACE
