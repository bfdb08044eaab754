// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/ranks_ahead.hpp"

#include <algorithm>
#include <exception>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace cli {

unsigned RanksAhead::usual_threads() noexcept { return std::min(std::thread::hardware_concurrency(), kMostThreads); }

RanksAhead::RanksAhead(const RunPlan& plan, Read read, unsigned threads) : plan_(plan), read_(std::move(read)) {
  const std::size_t wanted = std::min<std::size_t>(threads, plan.size());
  if (wanted < 2) { return; }
  slots_.resize(2 * wanted);  // so that nobody waits for a rank that takes long
  threads_.reserve(wanted);
  try {
    while (threads_.size() < wanted) {
      threads_.emplace_back([this] { work(); });
    }
  } catch (const std::exception&) {}  // no more threads, or no memory for one: those that are there do it
}

RanksAhead::~RanksAhead() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stops_ = true;
  }
  took_one_.notify_all();
  for (std::thread& each : threads_) { each.join(); }
}

Rank RanksAhead::next() {
  if (threads_.empty()) { return read_(plan_[taken_++]); }
  std::unique_lock<std::mutex> lock(mutex_);
  Slot& slot = slots_[taken_ % slots_.size()];
  read_one_.wait(lock, [&] { return slot.is_read; });
  Slot read = std::exchange(slot, Slot());
  ++taken_;
  lock.unlock();
  took_one_.notify_one();
  if (read.error != nullptr) { std::rethrow_exception(read.error); }
  return std::move(read.rank);
}

void RanksAhead::work() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    took_one_.wait(lock, [&] { return stops_ || begun_ == plan_.size() || may_begin(); });
    if (stops_ || begun_ == plan_.size()) { return; }
    const std::size_t at = begun_++;
    lock.unlock();
    Slot read;
    read.is_read = true;
    try {
      read.rank = read_(plan_[at]);
    } catch (...) { read.error = std::current_exception(); }
    lock.lock();
    slots_[at % slots_.size()] = std::move(read);
    read_one_.notify_one();
  }
}

}  // namespace cli
TAKT_END_NAMESPACE
