// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>
#include <takt/detail/memory.hpp>
#include <takt/summary.hpp>

#include <atomic>
#include <cstdint>
#include <new>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A key as a tree sees it: the key's number in the process's tree, its hash in a Timer's own.
using TreeKey = std::uint64_t;
inline constexpr TreeKey kNotUsual = ~TreeKey{0};  ///< no key is this one

/// What a region means beyond its own time.
enum class Role : std::uint8_t {
  plain,
  epoch,     ///< throughput leaves out the pause around its begin and end
  batch,     ///< outermost ones are steps
  overflow,  ///< takes what has no place of its own
};

/// One region at one place in the call tree of one thread. The owning thread writes; any thread may read the fields
/// that are Relaxed or Summary, between two reads of `version` that give the same even number.
struct alignas(64) Node {
  // The first line is all that a call of a warm region writes, apart from one histogram bucket.
  Counter version;   ///< twice the position after the event last folded in; odd while being written
  Counter inner_ns;  ///< of its time, what regions inside it covered
  Summary host;

  std::atomic<Summary*> device{nullptr};
  Counter items, bytes, skipped, device_pending, device_lost;
  Counter never_ended;  ///< calls given up (docs/decisions/0049-the-innermost-one.md)

  TreeKey key = 0;          ///< constant once published
  Role role = Role::plain;  ///< constant once published
  Node* parent = nullptr;   ///< constant once published; nullptr for the root
  std::uint32_t index = 0;  ///< constant once published: order of creation, parents first

  // Owning thread only. Guesses: what was opened here last, and which sibling was opened after this node last time;
  // never nullptr in a tree. `usual_key` is the key of a node without a role that was called before, so that one
  // comparison tells that the guess is right and that there is no more to do.
  TreeKey usual_key = kNotUsual;
  Node* last_child = nullptr;
  Node* next_guess = nullptr;
  // What ended here but began on another thread: in the summary, in no row, and no Batch begun here. Stands
  // beside the guesses: rows read it, and so touch one line more than the first.
  Counter away_calls;
  std::uint64_t away_ns = 0;   ///< owning thread only
  Relaxed<bool> called;        ///< a call has ended
  std::uint64_t given_ns = 0;  ///< owning thread only: of its time, durations that were given; they have no self time
  // For rows; owning thread only.
  std::uint8_t column = 0;   ///< 1-based column of this path in its Batch's rows, 0: none
  void* series = nullptr;    ///< of a Batch node: its rows
  bool missed_rows = false;  ///< of a Batch node: steps ended while there was no room for rows

  /// Time in which this was the innermost open region; 0 where the total is at its end. Of a node that no thread
  /// writes meanwhile.
  std::uint64_t self_ns() const noexcept { return host.is_full() ? 0 : host.total_ns() - inner_ns.get(); }

  TAKT_ALWAYS_INLINE void begin_write(std::uint64_t position) noexcept { version.set(2 * position + 1); }
  TAKT_ALWAYS_INLINE void end_write(std::uint64_t position) noexcept { version.set(2 * position + 2); }
};

/// The nodes of a tree by parent and key: open addressing, at most half full. One thread.
class NodeTable {
 public:
  NodeTable() noexcept = default;
  ~NodeTable() { delete[] place_; }
  NodeTable(const NodeTable&) = delete;
  NodeTable& operator=(const NodeTable&) = delete;

  /// nullptr if there is none.
  TAKT_COLD Node* find(const Node* parent, TreeKey key) const noexcept {
    if (size_ == 0) { return nullptr; }
    for (std::size_t at = first_place(parent, key); place_[at] != nullptr; at = (at + 1) & (size_ - 1)) {
      if (place_[at]->parent == parent && place_[at]->key == key) { return place_[at]; }
    }
    return nullptr;
  }
  /// Makes room for so many nodes in all, of memory of `budget`. False, and nothing done, where there is none.
  TAKT_COLD bool reserve(std::uint32_t nodes, MemoryBudget* budget) noexcept {
    return nodes <= size_ / 2 || grow(size_ == 0 ? kFirstSize : size_ * 2, budget);
  }
  /// There must be room.
  void insert(Node* node) noexcept {
    std::size_t at = first_place(node->parent, node->key);
    while (place_[at] != nullptr) { at = (at + 1) & (size_ - 1); }
    place_[at] = node;
  }
  /// Forgets the nodes, and keeps the room.
  void clear() noexcept {
    for (std::size_t at = 0; at < size_; ++at) { place_[at] = nullptr; }
  }

 private:
  static constexpr std::size_t kFirstSize = 64;

  std::size_t first_place(const Node* parent, TreeKey key) const noexcept {
    const std::uint64_t mixed = (reinterpret_cast<std::uintptr_t>(parent) >> 6U) * 0x9E3779B97F4A7C15U + key;
    return static_cast<std::size_t>((mixed * 0xD6E8FEB86659FD93U) >> 32U) & (size_ - 1);
  }
  bool grow(std::size_t size, MemoryBudget* budget) noexcept {
    const std::size_t bytes = (size - size_) * sizeof(Node*);
    if (budget != nullptr && !budget->take(bytes)) { return false; }
    auto** const place = new (std::nothrow) Node*[size]();
    if (place == nullptr) {
      if (budget != nullptr) { budget->give(bytes); }
      return false;
    }
    Node** const old = place_;
    const std::size_t old_size = size_;
    place_ = place;
    size_ = size;
    for (std::size_t at = 0; at < old_size; ++at) {
      if (old[at] != nullptr) { insert(old[at]); }
    }
    delete[] old;
    return true;
  }

  Node** place_ = nullptr;
  std::size_t size_ = 0;
};

inline constexpr unsigned kMaxDepth = 64;  ///< keys in a path, and open regions until more room is made

/// An open region on the stack of a thread. The lowest is none, but the thread itself: what its child_ns holds is
/// covered by regions.
struct OpenFrame {
  static constexpr std::uint32_t kStep = 1U << 24U;       ///< a step has ended since something around it did
  static constexpr std::uint32_t kTaken = 1U << 28U;      ///< given up, and its owner knows
  static constexpr std::uint32_t kLeft = 1U << 29U;       ///< it has outlived what it began in; nothing begins in it
  static constexpr std::uint32_t kRole = 1U << 30U;       ///< its end means more than its time
  static constexpr std::uint32_t kDiscarded = 1U << 31U;  ///< its length would be wrong; count it only
  static constexpr std::uint32_t kTooDeep = kStep - 1;    ///< the id of the frame that stands for all without room

  Relaxed<Node*> node;
  Counter begin_ns;
  Counter child_ns;  ///< covered by regions that were above this one
  /// The region's id, and flags, so that one comparison tells that an end is in order and nothing special.
  Relaxed<std::uint32_t> id_flags;
  /// While there are frames with kLeft, of those without: the frame that it began in (Tree::innermost_now).
  Relaxed<std::uint32_t> outer;

  std::uint32_t id() const noexcept { return id_flags.get() & (kStep - 1); }
  bool discarded() const noexcept { return has(kDiscarded); }
  bool has(std::uint32_t flag) const noexcept { return (id_flags.get() & flag) != 0; }
  void set(std::uint32_t flag) noexcept { id_flags.set(id_flags.own() | flag); }
  /// Owner: that of the frame above it, as the one at `removed` is taken out. Of up to 3 968: no load may wait for the
  /// one before it, as one that acquires would.
  void become(const OpenFrame& above, std::uint32_t removed) noexcept {
    node.set(above.node.own());
    begin_ns.set(above.begin_ns.own());
    child_ns.set(above.child_ns.own());
    id_flags.set(above.id_flags.own());
    const std::uint32_t around = above.outer.own();
    outer.set(around > removed ? around - 1 : around);
  }
};

/// Regions that are open without a frame of their own. One thread writes; any thread reads.
struct TooDeep {  // NOLINT(bugprone-reserved-identifier,readability-identifier-naming): of the copy clang makes up
  Counter count;
  Relaxed<unsigned> known;  // of these, those whose ids are kept
  Relaxed<std::uint32_t> id[kMaxDepth];
  TAKT_COLD void add(std::uint32_t started) noexcept {
    const unsigned last = known.own();
    if (last < kMaxDepth) {
      id[last].set(started);
      known.set(last + 1);
    }
    count.add(1);
  }
  /// One has ended. False if it is none of them; one whose id is not kept stands for any other.
  TAKT_COLD bool remove(std::uint32_t ended) noexcept {
    const unsigned last = known.own();
    if (holds(ended)) {
      unsigned at = 0;
      while (id[at].own() != ended) { ++at; }
      for (; at + 1 < last; ++at) { id[at] = id[at + 1]; }
      known.set(last - 1);
    } else if (count.own() == last) {
      return false;
    }
    count.set(count.own() - 1);
    return true;
  }
  TAKT_COLD bool holds(std::uint32_t open) const noexcept {
    unsigned at = 0;
    while (at < known.own() && id[at].own() != open) { ++at; }
    return at < known.own();
  }
};

/// The kinds of losses: what figures do not contain, or contain in part, and what was done wrongly. Counted by kind
/// and key.
enum class LossKind : std::uint8_t {
  end_without_start,  ///< an end that no open region of this thread matches
  never_ended,        ///< a region that was given up, or still open when its thread ended
  ended_elsewhere,    ///< a region ended on another thread than it began on: allowed, without self time
  clock_changed,      ///< a region open while the clock was replaced; not timed
  overflow,           ///< a region without room in the tree: beyond 64 deep, 4 096 paths, or the memory
  bad_amount,         ///< items() or bytes() of 0 or less
  device_skipped,     ///< no room, or no mark, for a device span
  device_failed,      ///< a device span that its backend could not give
  device_unresolved,  ///< a device span that had not finished when the run ended
  graph_missed,       ///< a device span of a graph that was replayed again before it could be read
  step_at_end,        ///< a step behind the last number that there is, which it gets, too
  ended_late,         ///< a region that ended after it had been given up: in n and total only
  no_place,           ///< a region beyond all that can be open, or be in a graph: not timed
  amount_elsewhere,   ///< items() or bytes() on another thread than the region's
};
inline constexpr int kLossKinds = 14;

/// How often each loss happened to regions of each key. One thread adds; any thread reads.
class LossCounts {
 public:
  struct Count {
    Relaxed<LossKind> kind;
    Counter key;
    Counter count;
  };

  LossCounts() noexcept = default;
  LossCounts(const LossCounts&) = delete;
  LossCounts& operator=(const LossCounts& other) noexcept {
    if (&other == this) { return *this; }
    const unsigned used = other.size();
    for (unsigned slot = 0; slot < used; ++slot) { slot_[slot] = other.slot_[slot]; }
    used_.set(used);
    return *this;
  }

  TAKT_COLD void add(LossKind kind, TreeKey key, std::uint64_t times) noexcept {
    const unsigned used = used_.own();
    for (unsigned slot = 0; slot < used; ++slot) {
      if (slot_[slot].kind.own() == kind && slot_[slot].key.own() == key) {
        slot_[slot].count.add(times);
        return;
      }
    }
    // The last slots are one a kind, without a name, so that the count stays whole when there are too many keys.
    const bool full = used >= kSlots - static_cast<unsigned>(kLossKinds) && key != 0;
    if (full) { return add(kind, 0, times); }
    Count& slot = slot_[used];
    slot.kind.set(kind);
    slot.key.set(key);
    slot.count.set(times);
    used_.set(used + 1);
  }
  void clear() noexcept { used_.set(0); }

  unsigned size() const noexcept { return used_.get(); }
  const Count& operator[](unsigned slot) const noexcept { return slot_[slot]; }

 private:
  static constexpr unsigned kSlots = 64;
  Relaxed<unsigned> used_;
  Count slot_[kSlots];
};

}  // namespace detail
TAKT_END_NAMESPACE
