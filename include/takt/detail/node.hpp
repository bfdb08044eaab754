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

/// A key as a tree stores it: its number in the process's tree, its hash in a Timer's own tree.
using TreeKey = std::uint64_t;
inline constexpr TreeKey kNotUsual = ~TreeKey{0};  ///< no key has this value

/// Meaning of a region beyond its own time.
enum class Role : std::uint8_t {
  plain,
  epoch,     ///< throughput excludes the pause around its start and end
  batch,     ///< outermost ones are steps
  overflow,  ///< receives regions without a place of their own
};

/// One region at one place in one thread's call tree. The owning thread writes. Any thread may read the fields that are
/// Relaxed or Summary, between two reads of `version` that return the same even number.
struct alignas(64) Node {
  // A call of a warm region writes only the first line and one histogram bucket.
  Counter version;   ///< twice the position after the event last folded in; odd during a write
  Counter inner_ns;  ///< part of its time that inner regions covered
  Summary host;

  std::atomic<Summary*> device{nullptr};
  Counter items, bytes, skipped, device_pending, device_lost;
  Counter never_ended;  ///< expired calls (docs/decisions/0049-the-innermost-one.md)

  TreeKey key = 0;          ///< constant once published
  Role role = Role::plain;  ///< constant once published
  Node* parent = nullptr;   ///< constant once published; nullptr for the root
  std::uint32_t index = 0;  ///< constant once published: order of creation, parents first

  // Owning thread only. Guesses: the region last opened here, and the sibling last opened after this node; never
  // nullptr in a tree. `usual_key` is the key of a node without a role that was called before: one comparison confirms
  // the guess and shows that no further work is needed.
  TreeKey usual_key = kNotUsual;
  Node* last_child = nullptr;
  Node* next_guess = nullptr;
  // Calls that ended here but started on another thread: in the summary, in no row, and not counted as a Batch. Placed
  // next to the guesses, so that rows read only one line besides the first.
  Counter away_calls;
  std::uint64_t away_ns = 0;   ///< owning thread only
  Relaxed<bool> called;        ///< a call has ended
  std::uint64_t given_ns = 0;  ///< owning thread only: part of its time from given durations; they have no self time
  // For rows; owning thread only.
  std::uint8_t column = 0;   ///< 1-based column of this path in its Batch's rows, 0: none
  void* series = nullptr;    ///< rows of a Batch node
  bool missed_rows = false;  ///< Batch node: steps ended while its rows were full

  /// Returns the time in which this was the innermost open region; 0 if the total has saturated. No thread may write
  /// the node meanwhile.
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

  /// Returns the node, or nullptr.
  TAKT_COLD Node* find(const Node* parent, TreeKey key) const noexcept {
    if (size_ == 0) { return nullptr; }
    for (std::size_t at = first_place(parent, key); place_[at] != nullptr; at = (at + 1) & (size_ - 1)) {
      if (place_[at]->parent == parent && place_[at]->key == key) { return place_[at]; }
    }
    return nullptr;
  }
  /// Reserves capacity for `nodes` in all from `budget`. Returns false, unchanged, if memory runs out.
  TAKT_COLD bool reserve(std::uint32_t nodes, MemoryBudget* budget) noexcept {
    return nodes <= size_ / 2 || grow(size_ == 0 ? kFirstSize : size_ * 2, budget);
  }
  /// Inserts a node; needs reserved capacity.
  void insert(Node* node) noexcept {
    std::size_t at = first_place(node->parent, node->key);
    while (place_[at] != nullptr) { at = (at + 1) & (size_ - 1); }
    place_[at] = node;
  }
  /// Removes all nodes, and keeps the capacity.
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

inline constexpr unsigned kMaxDepth = 64;  ///< keys in a path, and open regions before the stack grows

/// An open region on a thread's stack. The lowest frame is the thread itself: its child_ns is the time that regions
/// cover.
struct OpenFrame {
  static constexpr std::uint32_t kStep = 1U << 24U;       ///< a step ended since a region around this one did
  static constexpr std::uint32_t kTaken = 1U << 28U;      ///< expired, and its owner knows
  static constexpr std::uint32_t kLeft = 1U << 29U;       ///< it has outlived its parent; nothing starts inside it
  static constexpr std::uint32_t kRole = 1U << 30U;       ///< its end means more than its time
  static constexpr std::uint32_t kDiscarded = 1U << 31U;  ///< its length is invalid; count it only
  static constexpr std::uint32_t kTooDeep = kStep - 1;    ///< id of the shared frame of all regions beyond the capacity

  Relaxed<Node*> node;
  Counter begin_ns;
  Counter child_ns;  ///< covered by regions that were above this one
  /// The region's id and flags: one comparison confirms an in-order end without special cases.
  Relaxed<std::uint32_t> id_flags;
  /// While some frames have kLeft, for those without: the parent frame (Tree::innermost_now).
  Relaxed<std::uint32_t> outer;

  std::uint32_t id() const noexcept { return id_flags.get() & (kStep - 1); }
  bool discarded() const noexcept { return has(kDiscarded); }
  bool has(std::uint32_t flag) const noexcept { return (id_flags.get() & flag) != 0; }
  void set(std::uint32_t flag) noexcept { id_flags.set(id_flags.own() | flag); }
  /// Owner: copies the frame above when the one at `removed` is taken out. Runs for up to 3,968 frames, so no load may
  /// wait for the previous one, as an acquire does.
  void become(const OpenFrame& above, std::uint32_t removed) noexcept {
    node.set(above.node.own());
    begin_ns.set(above.begin_ns.own());
    child_ns.set(above.child_ns.own());
    id_flags.set(above.id_flags.own());
    const std::uint32_t around = above.outer.own();
    outer.set(around > removed ? around - 1 : around);
  }
};

/// Open regions without a frame of their own. One thread writes; any thread reads.
struct TooDeep {  // NOLINT(bugprone-reserved-identifier,readability-identifier-naming): of the copy clang makes up
  Counter count;
  Relaxed<unsigned> known;  // number of these with a stored id
  Relaxed<std::uint32_t> id[kMaxDepth];
  TAKT_COLD void add(std::uint32_t started) noexcept {
    const unsigned last = known.own();
    if (last < kMaxDepth) {
      id[last].set(started);
      known.set(last + 1);
    }
    count.add(1);
  }
  /// Removes an ended region. Returns false if it is none of them; a region without a stored id matches any other such
  /// region.
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

/// Kinds of dropped or partial data and of misuse, counted by kind and key.
enum class LossKind : std::uint8_t {
  end_without_start,  ///< an end that matches no open region of this thread
  never_ended,        ///< a region that expired, or was still open when its thread ended
  ended_elsewhere,    ///< a region that ended on another thread than it started on: allowed, without self time
  clock_changed,      ///< a region open while the clock was replaced; not timed
  overflow,           ///< a region beyond the tree's limits: 64 levels, 4,096 paths, or the memory
  bad_amount,         ///< items() or bytes() of 0 or less
  device_skipped,     ///< no capacity, or no timestamp, for a device span
  device_failed,      ///< a device span that its backend could not provide
  device_unresolved,  ///< a device span that was unfinished when the run ended
  graph_missed,       ///< a device span of a graph that was replayed again before it was read
  step_at_end,        ///< a step after the maximum step number; it gets that number, too
  ended_late,         ///< a region that ended after it had expired: in n and total only
  no_place,           ///< a region beyond the maximum of open regions or graph regions: not timed
  amount_elsewhere,   ///< items() or bytes() on another thread than the region's
};
inline constexpr int kLossKinds = 14;

/// Counts of each loss per key. One thread adds; any thread reads.
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
    // The last slots are one per kind, without a name: the count stays complete with too many keys.
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
