// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "journal/journal_sync.hpp"

#include "base/background.hpp"
#include "base/fault.hpp"
#include "base/file.hpp"
#include "base/words.hpp"

#include <cerrno>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace detail {

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

/// Without the lock: only the thread that made itself busy touches `under_way`.
void JournalSync::State::write_through() noexcept {
  int error = 0;
  for (const Descriptor& each : under_way) {
    if (each.is_ours() && ::fdatasync(each.number()) != 0 && errno != EINVAL && errno != ENOTSUP && errno != EROFS) {
      error = errno;
    }
  }
  under_way.clear();
  {
    const Descriptor folder(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder.is_open()) { ::fsync(folder.number()); }  // some file systems know none for folders
  }
  if (error != 0) {
    try {
      report_fault("journal.sync", explain_fault("keep for good", directory, error));
    } catch (const std::bad_alloc&) {
      // The next export begins a new file, that is what matters.
      report_fault("journal.sync", Words("cannot keep for good ", directory));
    }
  }
  const std::lock_guard<std::mutex> lock(mutex);
  failed = failed || error != 0;
}

/// Also what came meanwhile: at the end of a run nobody starts it again.
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
    // Out of memory: the kernel writes it through in its own time.
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
      // Out of memory: likewise.
    }
  }
  if (state_->under_way.empty()) { return; }
  // A share of its own, as the thread may outlive this.
  auto* const share = new (std::nothrow) std::shared_ptr<State>(state_);
  state_->busy = share != nullptr && start_background("takt-sync", &run, share);
  if (!state_->busy) { delete share; }
  // Without a thread the kernel writes it all in its own time, within half a minute as a rule.
  if (!state_->busy) { state_->under_way.clear(); }
}

bool JournalSync::take_failure() noexcept {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return std::exchange(state_->failed, false);
}

void JournalSync::wait(std::chrono::milliseconds most) {
  std::unique_lock<std::mutex> lock(state_->mutex);
  state_->changed.wait_for(lock, most, [this] { return !state_->busy; });
}

}  // namespace detail
TAKT_END_NAMESPACE
