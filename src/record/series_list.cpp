// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "record/series_list.hpp"

#include <new>

TAKT_BEGIN_NAMESPACE
namespace detail {

std::uint32_t SeriesList::add(std::uint32_t thread, const Tree& tree, const Node& batch,
                              const StepSeries& series) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (slots_.size() >= kMost) { return kNone; }
  Slot slot;
  slot.tree = &tree;
  slot.batch = &batch;
  slot.live = &series;
  slot.value.thread = thread;
  try {
    slots_.push_back(slot);
  } catch (const std::bad_alloc&) { return kNone; }
  has_any_.store(true, std::memory_order_relaxed);
  return static_cast<std::uint32_t>(slots_.size() - 1);
}

void SeriesList::read_live(Slot& slot, const PathOf& path_of) {
  slot.value.path = path_of(slot.batch);
  slot.value.steps = slot.live->steps();
  slot.value.warmup_steps = slot.live->warmup_steps();
  slot.value.throughput = slot.live->throughput();
}

void SeriesList::finish(const Tree& tree, const PathOf& path_of) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (Slot& slot : slots_) {
    if (slot.live == nullptr || slot.tree != &tree) { continue; }
    read_live(slot, path_of);
    slot.live = nullptr;
  }
}

void SeriesList::read(std::vector<Series>& out, const PathOf& path_of) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (Slot& slot : slots_) {
    if (slot.live != nullptr) { read_live(slot, path_of); }
    out.push_back(slot.value);
  }
}

}  // namespace detail
TAKT_END_NAMESPACE
