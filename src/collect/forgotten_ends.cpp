// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// What Recorder and Registry do about regions whose end was forgotten, and about more open ones than fit into blocks.
#include "base/fault.hpp"
#include "collect/registry.hpp"
#include "record/recorder.hpp"

#include <takt/timer.hpp>

#include <array>
#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

static_assert(Tree::kMaxOpen == kBlocks * (kBlockEvents - kBlockFirst), "as many as there are places");

/// "Batch/Forward"; empty for the root.
std::string path_text(const KeyTable& keys, const Node* node) {
  if (node->parent == nullptr) { return {}; }
  const std::string above = path_text(keys, node->parent);
  const std::string name(keys.name(static_cast<KeyIndex>(node->key)));
  return above.empty() ? name : above + "/" + name;
}

void tell(const KeyTable& keys, const Node& node) {
  const std::string place = path_text(keys, node.parent);
  const std::string name(keys.name(static_cast<KeyIndex>(node.key)));
  const std::string began = place.empty() ? "outside of any region" : "in " + place;
  const std::string line = "\"" + name + "\" was never ended; it began " + began;
  report_fault_once(line, line);
}

}  // namespace

/// For a Timer with books of its own, which knows the library where there is one.
TAKT_EXPORT void report_forgotten(const char* line) noexcept { report_fault_once(line, line); }

/// Of open regions, those given up included.
template <class Use>
void Recorder::each_open_id(Use use) const noexcept {
  const auto use_one = [&use](std::uint32_t id) {
    if (id < kBlocks * kBlockEvents) { use(id); }
  };
  for (unsigned level = 0; level < tree_.depth(); ++level) { use_one(tree_.frame(level).id()); }
  for (unsigned index = 0; index < tree_.too_deep_known(); ++index) { use_one(tree_.too_deep_id(index)); }
  for (unsigned index = 0; index < tree_.late(); ++index) { use_one(tree_.late_frame(index).id()); }
}

/// The places at which open regions began, those given up included: a bit each.
Recorder::Places Recorder::taken_places() const noexcept {
  Places taken{};
  each_open_id([&taken](std::uint32_t id) { taken[id / kBlockEvents] |= std::uint64_t{1} << (id % kBlockEvents); });
  return taken;
}

/// The first block in which no open region began; kBlocks where there is none. Regions that were given up go first, and the
/// block that is being left comes last.
std::size_t Recorder::free_block() noexcept {
  constexpr unsigned kAtOnce = Tree::kMaxLate / 16;
  static_assert(kBlocks == 64, "a bit a block");
  const std::size_t here = place_of(own_cursor() - 1) / kBlockEvents;
  for (;;) {
    std::uint64_t taken = 0;
    each_open_id([&taken](std::uint32_t id) { taken |= std::uint64_t{1} << (id / kBlockEvents); });
    const std::uint64_t free = ~taken & ~(std::uint64_t{1} << here);
    if (TAKT_LIKELY(free != 0)) { return static_cast<std::size_t>(__builtin_ctzll(free)); }
    if ((taken >> here & 1U) == 0) { return here; }
    if (tree_.late() == 0) { return kBlocks; }
    const Change change(*this);
    for (unsigned dropped = 0; dropped < kAtOnce && tree_.drop_late(); ++dropped) {}
  }
}

/// Begins a region at a place between others that are open, as no block is free; folded at once. 0: no place is, either.
TAKT_COLD Region Recorder::begin_between(KeyIndex key, std::uint64_t ticks) noexcept {
  const Places taken = taken_places();
  std::size_t place = 0;
  while (place < kBlocks * kBlockEvents &&
         (place % kBlockEvents < kBlockFirst || (taken[place / kBlockEvents] >> (place % kBlockEvents) & 1U) != 0)) {
    ++place;
  }
  if (place == kBlocks * kBlockEvents) {
    mistake(Mishap::no_place, key);
    return 0;
  }
  Event* const at = &arena_.event[place];
  const Change change(*this);
  put(at, begin_event(key, ticks));
  if (TAKT_UNLIKELY(tracing.load(std::memory_order_relaxed))) { trace(at, 1, place_of(at), last_ticks_.own()); }
  Folder folder(tree_, ruler());
  folder.fold(at, 1, place_of(at), position_.own());
  last_ticks_.set(ruler_.last_ticks());
  return reinterpret_cast<Region>(at);
}

/// What the last fold has found out beside values.
TAKT_COLD void Recorder::take_news() noexcept {
  if (tree_.has_lost_step()) { step_lost(tree_.take_lost_step()); }
  tree_.take_given_up([this](const Tree::Frame& frame) {
    DeviceBegin begin;
    if (devices_.take(frame.id(), begin)) {
      begin.release();
      device_skipped(frame.node.get()->key, nullptr);
    }
    take_told(reinterpret_cast<Region>(&arena_.event[frame.id()]));
  });
  has_untold_ = tree_.given_up() != told_given_up_.load(std::memory_order_relaxed);
}

void Recorder::tell_forgotten(const KeyTable& keys) {
  const std::uint64_t given_up = tree_.given_up();
  if (told_given_up_.exchange(given_up, std::memory_order_relaxed) == given_up) { return; }
  for (std::uint32_t index = 0; index < tree_.nodes(); ++index) {
    const Node& node = *tree_.node(index);
    if (node.never_ended.get() != 0) { tell(keys, node); }
  }
}

void Registry::tell_forgotten(Recorder& here) noexcept {
  if (is_collected_.load(std::memory_order_relaxed)) { return; }  // by a thread that may wait for stderr
  try {
    here.tell_forgotten(keys_);
  } catch (const std::bad_alloc&) {}  // the report has it
}

void Registry::tell_forgotten() {
  std::vector<Slot*> slots;
  {
    const std::lock_guard<std::mutex> lock(list_);
    slots = slots_;
  }
  for (Slot* slot : slots) { slot->recorder->tell_forgotten(keys_); }
}

/// Of each path, how many of its regions were never ended.
void Registry::count_forgotten(const Node& node, std::uint32_t path) {
  const std::uint64_t count = node.never_ended.get();
  if (count != 0 && count < std::uint64_t{1} << 63U) {
    forgotten_[path] += count;
  }  // a late end may be seen twice for a moment
}

}  // namespace detail
TAKT_END_NAMESPACE
