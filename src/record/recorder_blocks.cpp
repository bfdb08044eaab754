// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Where a thread writes its next event.
#include "record/recorder.hpp"

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

static_assert(Tree::kMaxOpen == kBlocks * (kBlockEvents - kBlockFirst), "as many as there are places");

}  // namespace

/// Where to write; nullptr without room, with nothing left to fold. Reads the cursor once for each answer: between two
/// reads a signal handler may use up the room, and behind a block's end are other events.
Event* Recorder::room_for(unsigned events) noexcept {
  Event* at = own_cursor();
  if (TAKT_LIKELY(has_room(at, events))) { return at; }
  fold();
  at = own_cursor();
  if (has_room(at, events)) { return at; }
  if (folded_.own() != at) { fold(); }
  next_block();
  at = own_cursor();
  return has_room(at, events) ? at : nullptr;
}

/// Goes to the first block in which no open region began: its places may be used again. Not to the one that is being
/// left, if there is another: what a signal handler has interrupted here may still write there, and only another block
/// tells (unfolded()).
void Recorder::next_block() noexcept {
  if (TAKT_UNLIKELY(full_)) { return; }
  const std::size_t block = free_block();
  if (block == kBlocks) {  // a region began in each of them and is open: begin_between()
    full_ = true;
    taken_ = taken_places();
    return;
  }
  Event* start = &arena_.event[block * kBlockEvents + kBlockFirst];
  const Write write(*this);
  folded_.set(start);
  set_own_cursor(start);
}

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

/// The first block in which no open region began; kBlocks where there is none. Regions that were given up go first,
/// and the block that is being left comes last.
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

/// Begins a region at a place between others that are open, as no block is free; folded at once. 0: no place is,
/// either.
TAKT_COLD Region Recorder::begin_between(KeyIndex key, std::uint64_t ticks) noexcept {
  constexpr std::uint64_t kEmpty = (std::uint64_t{1} << kBlockFirst) - 1;  // places that are not in use
  std::size_t block = 0;
  while (block < kBlocks && ~(taken_[block] | kEmpty) == 0) { ++block; }
  if (block == kBlocks) {
    count_loss(LossKind::no_place, key);
    return 0;
  }
  const auto place = static_cast<std::size_t>(__builtin_ctzll(~(taken_[block] | kEmpty)));
  taken_[block] |= std::uint64_t{1} << place;
  Event* const at = &arena_.event[block * kBlockEvents + place];
  const Change change(*this);
  put(at, begin_event(key, ticks));
  if (TAKT_UNLIKELY(tracing.load(std::memory_order_relaxed))) { trace(run_of(at, at + 1), last_ticks_.own()); }
  Fold(tree_, ruler()).add(run_of(at, at + 1));
  last_ticks_.set(ruler_.last_ticks());
  return reinterpret_cast<Region>(at);
}

/// While no block is free, places are given back one by one, as all events are folded at once.
TAKT_COLD void Recorder::give_place(std::uint32_t id) noexcept {
  taken_[id / kBlockEvents] &= ~(std::uint64_t{1} << (id % kBlockEvents));
  full_ = taken_[id / kBlockEvents] != 0;
}

}  // namespace detail
TAKT_END_NAMESPACE
