// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "process/threads.hpp"

#include "base/report_error.hpp"

#include <sched.h>
#include <unistd.h>
#include <algorithm>
#include <iterator>
#include <memory>
#include <new>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {

thread_local bool Threads::locked_here = false;

Recorder* Threads::attach() noexcept {
  try {
    const std::lock_guard<Mutex> lock(mutex_);
    Recorder* recorder = nullptr;
    const std::size_t threads = infos_.size();
    const std::uint32_t thread = add_thread();  // may throw, so before taking a recorder
    if (!free_.empty()) {
      recorder = free_.back()->recorder;
      free_.pop_back();
    } else if (Slot* slot = add_slot()) {
      recorder = slot->recorder;
    }
    if (recorder != nullptr) {
      recorder->attach(thread, warmup_.load(std::memory_order_relaxed));
      return recorder;
    }
    if (infos_.size() > threads) { infos_.pop_back(); }
  } catch (const std::bad_alloc&) {}  // handled like nullptr
  // Reports after unlocking: the error handler may use regions itself.
  count_unrecorded();
  report_error("memory", "out of memory for another recording thread: it is not timed. TAKT_MEMORY_MB sets the limit.");
  return nullptr;
}

/// Returns a new recorder's slot; nullptr if the memory for recording is used up. Reserves the memory needed when its
/// thread ends. Requires the mutex.
Threads::Slot* Threads::add_slot() noexcept try {
  slots_.reserve(slots_.size() + 1);
  free_.reserve(slots_.size() + 1);
  auto slot = std::make_unique<Slot>();
  slot->recorder = Recorder::create(clock_, shared_, generation_);
  if (slot->recorder == nullptr) { return nullptr; }
  slots_.push_back(slot.get());
  return slot.release();
} catch (const std::bad_alloc&) { return nullptr; }

/// Returns the number of the calling thread. Requires the mutex.
std::uint32_t Threads::add_thread() {
  if (infos_.size() < kMax) {
    ThreadInfo info;
    info.id = static_cast<std::uint32_t>(infos_.size());
    info.name = gettid() == getpid()  ? "main"
                : info.id + 1 == kMax ? ThreadInfo::kFurther
                                      : "thread " + std::to_string(info.id);
    infos_.push_back(info);
  }
  return infos_.back().id;
}

void Threads::name(std::uint32_t thread, std::string text) noexcept {
  const std::lock_guard<Mutex> lock(mutex_);
  if (thread + 1 != kMax && thread < infos_.size()) { infos_[thread].name = std::move(text); }
}

bool Threads::retire(Recorder& recorder) noexcept {
  const std::lock_guard<Mutex> lock(mutex_);
  recorder.detach_thread();
  infos_[recorder.thread()].ended = true;
  Slot& slot =
      **std::find_if(slots_.begin(), slots_.end(), [&](const Slot* each) { return each->recorder == &recorder; });
  if (recorder.device_pending()) {
    slot.orphan = true;
    orphans_.fetch_add(1, std::memory_order_relaxed);
  }
  slot.retired_at = ++retirements_;
  slot.retired.store(true, std::memory_order_release);  // pairs with the acquire in Slot::is_retired
  return ++waiting_ > kMaxWaiting;
}

void Threads::reuse(Slot& slot) {
  const Dropped dropped = dropped_by(*slot.recorder);
  slot.recorder->recycle();
  const std::lock_guard<Mutex> lock(mutex_);
  for (std::size_t type = 0; type < dropped.size(); ++type) { dropped_[type] += dropped[type]; }
  slot.retired.store(false, std::memory_order_release);  // pairs with the acquire in Slot::is_retired
  free_.push_back(&slot);
}

std::vector<Threads::Slot*> Threads::slots() {
  const std::lock_guard<Mutex> lock(mutex_);
  return slots_;
}

std::vector<Threads::Slot*> Threads::retired() {
  std::vector<Slot*> retired;
  const std::lock_guard<Mutex> lock(mutex_);
  std::copy_if(slots_.begin(), slots_.end(), std::back_inserter(retired),
               [](const Slot* slot) { return slot->is_retired(); });
  waiting_ = 0;
  return retired;
}

std::vector<Threads::Slot*> Threads::with_values(std::vector<ThreadInfo>& threads) {
  std::vector<Slot*> slots;
  const std::lock_guard<Mutex> lock(mutex_);
  std::copy_if(slots_.begin(), slots_.end(), std::back_inserter(slots),
               [](const Slot* slot) { return slot->is_retired() || slot->recorder->owner_alive(); });
  threads = infos_;
  return slots;
}

/// Returns records dropped by the thread that uses `recorder`, or used it last.
Threads::Dropped Threads::dropped_by(const Recorder& recorder) noexcept {
  Dropped dropped{};
  const Outbox* const outbox = recorder.outbox();
  if (outbox == nullptr) { return dropped; }
  for (std::size_t type = 0; type < dropped.size(); ++type) {
    dropped[type] = outbox->dropped(static_cast<Record::Type>(type));
  }
  return dropped;
}

void Threads::copy(const Recorder& recorder, Unfolded& unfolded) noexcept {
  for (;;) {
    {
      const std::lock_guard<Mutex> lock(mutex_);  // prevents the end of the thread
      if (recorder.try_copy(unfolded, Recorder::kCopyTries)) { return; }
    }
    sched_yield();  // lets starting and ending threads take the lock
  }
}

}  // namespace detail
TAKT_END_NAMESPACE
