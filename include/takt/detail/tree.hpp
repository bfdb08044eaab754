// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/detail/memory.hpp>
#include <takt/detail/node.hpp>
#include <takt/key.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What was done wrongly, or could not be kept. Counted by kind and key.
enum class Mishap : std::uint8_t {
  end_without_start,  ///< an end that no open region of this thread matches
  never_ended,        ///< a region still open when its thread ended
  ended_elsewhere,    ///< a region ended on another thread than it began on: allowed, without self time
  clock_changed,      ///< a region open while the clock was replaced; not timed
  overflow,           ///< a region without room in the tree: beyond 64 deep, 4 096 paths, or the memory
  bad_amount,         ///< items() or bytes() of 0 or less
  device_skipped,     ///< no room, or no mark, for a device span
  device_failed,      ///< a device span that its backend could not give
  device_unresolved,  ///< a device span that had not finished when the run ended
  graph_missed,       ///< a device span of a graph that was replayed again before it could be read
  step_at_end,        ///< a step behind the last number that there is, which it gets, too
};
inline constexpr int kMishaps = 11;

/// The open regions of one thread and what has been folded of the ended ones: events in, summaries out. Times are in ns on
/// one monotonic axis. Owning thread only, but for what Node and Frame say of readers.
///
/// Self time by the stack: a region's self time is its length less the time that regions above it on the stack covered.
/// For an end in order that is one subtraction; only an end out of order looks further (close).
class Tree {
 public:
  static constexpr unsigned kMaxDepth = 64;
  static constexpr std::uint32_t kMaxNodes = 4096;

  /// An open region. frames_[0] is none, but the thread itself: what its child_ns holds is covered by regions.
  struct Frame {
    static constexpr std::uint32_t kRole = 1U << 30U;       ///< its end means more than its time
    static constexpr std::uint32_t kDiscarded = 1U << 31U;  ///< its length would be wrong; count it only
    static constexpr std::uint32_t kTooDeep = kRole - 1;  ///< the id of the frame that stands for all beyond kMaxDepth

    Relaxed<Node*> node;
    Counter begin_ns;
    Counter child_ns;  ///< covered by regions that were above this one
    /// The region's id, and flags, so that one comparison tells that an end is in order and nothing special.
    Relaxed<std::uint32_t> id_flags;

    std::uint32_t id() const noexcept { return id_flags.get() & ~(kRole | kDiscarded); }
    bool discarded() const noexcept { return (id_flags.get() & kDiscarded) != 0; }
  };
  struct Count {
    Relaxed<Mishap> mishap;
    Counter key;
    Counter count;
  };

  /// \param epoch_key, batch_key the keys with a Role.
  /// \param budget not owned, may be nullptr; memory for nodes and histogram pages is taken from it.
  Tree(TreeKey epoch_key, TreeKey batch_key, MemoryBudget* budget = nullptr) noexcept
      : epoch_key_(epoch_key), batch_key_(batch_key), budget_(budget) {
    frames_[0].node.set(&root_);
    frames_[0].id_flags.set(~std::uint32_t{0});
    overflow_.role = Role::overflow;
    root_.last_child = overflow_.last_child = overflow_.next_guess = &overflow_;
  }
  ~Tree() {
    clear_shape();
    delete[] table_;
  }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  /// Opens a region of `key` inside the innermost open one. `id` must differ from those of all open regions, and be below
  /// Frame::kTooDeep.
  TAKT_ALWAYS_INLINE void begin(TreeKey key, std::uint32_t id, std::uint64_t ns) noexcept {
    Frame* const top = top_.own();
    Node* node = usual_child(top->node.own(), key);
    if (TAKT_UNLIKELY(node == nullptr || top >= usual_limit_)) {
      begin_unusual(key, id, ns);
      return;
    }
    open(top + 1, node, id, ns);
  }

  /// Ends the region `id`. Returns its node, or nullptr if no such region is open.
  /// \param position of the event in its thread, see Node::version.
  TAKT_ALWAYS_INLINE Node* end(std::uint32_t id, std::uint64_t ns, std::uint64_t position) noexcept {
    Frame* const top = top_.own();
    if (TAKT_UNLIKELY(top->id_flags.own() != id)) { return end_unusual(id, ns, position); }
    Node* node = top->node.own();
    const std::uint64_t length = ns - top->begin_ns.own();
    top_.set(top - 1);
    top[-1].child_ns.add(length);
    fold(node, length, top->child_ns.own(), position);
    return node;
  }
  Node* end(std::uint32_t id, std::uint64_t ns) noexcept { return end(id, ns, position_); }

  /// A region that ends before any other begins or ends, and the one around it.
  struct Leaf {
    Node* node;
    Frame* around;
  };
  /// Where a leaf belongs for which begin() and end() would do nothing more than fold_leaf(); else a nullptr.
  TAKT_ALWAYS_INLINE Leaf usual_leaf(TreeKey key) noexcept {
    Frame* const top = top_.own();
    return {TAKT_LIKELY(top < usual_limit_) ? usual_child(top->node.own(), key) : nullptr, top};
  }
  /// \param leaf what usual_leaf() has just given.
  /// \param length less than 2^32 ns.
  TAKT_ALWAYS_INLINE void fold_leaf(Leaf leaf, std::uint64_t length, std::uint64_t position) noexcept {
    leaf.around->child_ns.add(length);
    leaf.node->begin_write(position);
    if (TAKT_UNLIKELY(!leaf.node->host.try_add_short(length))) { leaf.node->host.add(length, budget_); }
    leaf.node->end_write(position);
  }

  /// Takes the open region `id` off the stack without folding it, as if it had never been there for self time.
  bool detach(std::uint32_t id, Frame& taken) noexcept;
  /// Marks all open regions as not to be timed.
  void discard_open() noexcept;

  /// Adds a duration at the place where a region of `key` would begin now.
  Node* add_here(TreeKey key, std::uint64_t length) noexcept;
  /// Adds a duration to `node`, which must belong to this tree, without self time.
  void add_at(Node* node, std::uint64_t length) noexcept {
    fold(node, length, length, position_);
    node->away_calls.add(1);
    node->away_ns += length;
  }
  /// The node of `key` below `parent`; made if need be, the overflow node where that cannot be done.
  Node* child(Node* parent, TreeKey key) noexcept {
    Node* usual = usual_child(parent, key);
    return usual != nullptr ? usual : find_child(parent, key);
  }
  /// The node of a region of `key` that would begin now: below the innermost open one. But one that has ended around those
  /// that are still open begins anew at its own place: regions that overlap in turn would make a path without end.
  Node* place_for(TreeKey key) noexcept {
    Node* again = overlapped_ ? ended_around(key) : nullptr;
    return again != nullptr ? again : child(innermost(), key);
  }
  Summary* device_of(Node* node) noexcept;

  void count(Mishap mishap, TreeKey key, std::uint64_t times = 1) noexcept;

  // Reading. Nodes are in order of creation, parents before children.
  std::uint32_t nodes() const noexcept { return node_count_.load(std::memory_order_acquire); }
  Node* node(std::uint32_t index) const noexcept {
    return chunks_[index / kChunk].load(std::memory_order_acquire)->node[index % kChunk];
  }
  Node* root() noexcept { return &root_; }
  Node* overflow() noexcept { return &overflow_; }
  const Node* overflow() const noexcept { return &overflow_; }
  unsigned depth() const noexcept { return static_cast<unsigned>(top_.get() - frames_); }
  /// \param level 0 for the outermost open region.
  const Frame& frame(unsigned level) const noexcept { return frames_[level + 1]; }
  /// The node of the innermost open region.
  Node* innermost() noexcept { return top_.own()->node.own(); }
  std::uint64_t covered_ns() const noexcept { return frames_[0].child_ns.get(); }
  unsigned mishaps() const noexcept { return mishap_count_.get(); }
  const Count& mishap(unsigned index) const noexcept { return mishap_[index]; }
  bool has_discarded() const noexcept { return discarded_; }
  /// How many open regions have no frame of their own, and the ids of the first 64 of these.
  std::uint64_t too_deep() const noexcept { return deep_.count.own(); }
  unsigned too_deep_known() const noexcept { return deep_.known.own(); }
  std::uint32_t too_deep_id(unsigned index) const noexcept { return deep_.id[index].own(); }
  bool is_open(std::uint32_t id) const noexcept;
  bool is_discarded(std::uint32_t id) const noexcept;

  /// The outermost Batch that is open, or else the one that ended last.
  struct Step {
    Node* node = nullptr;
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
    bool open = false;
    bool warmup = false;
    std::uint32_t id = 0;
  };
  const Step& step() const noexcept { return step_; }
  /// The Batch of a step that ended without a time of its own since this was last taken, else nullptr.
  bool has_lost_step() const noexcept { return lost_step_ != nullptr; }
  Node* take_lost_step() noexcept {
    Node* const lost = lost_step_;
    lost_step_ = nullptr;
    return lost;
  }
  /// Epochs begun and ended so far.
  std::uint64_t boundaries() const noexcept { return boundaries_; }

  // Set-up and house-keeping.
  void set_warmup(std::uint64_t batches) noexcept { warmup_batches_.set(batches); }
  void set_position(std::uint64_t position) noexcept { position_ = position; }
  std::uint64_t position() const noexcept { return position_; }
  /// Regions that are open without a frame of their own.
  struct TooDeep {  // NOLINT(bugprone-reserved-identifier,readability-identifier-naming): of the copy clang makes up
    Counter count;
    Relaxed<unsigned> known;  // of these, those whose ids are kept
    Relaxed<std::uint32_t> id[kMaxDepth];
    void add(std::uint32_t begun) noexcept;
    /// One has ended. False if it is none of them; one whose id is not kept stands for any other.
    bool remove(std::uint32_t ended) noexcept;
    bool holds(std::uint32_t open) const noexcept;
  };
  /// What readers must see as of one moment; the summaries carry positions of their own (Node::version).
  struct State {
    unsigned depth = 0;
    TooDeep too_deep;
    std::uint64_t covered_ns = 0;
    bool warm = false;
    std::uint32_t step = 0;  // id of the open one, 0: none
    unsigned mishaps = 0;
    Frame frames[kMaxDepth + 1];
    Count mishap[64];
  };
  /// Any thread, while the owner folds nothing (Recorder checks that by its sequence number).
  void save(State& state) const noexcept;
  /// Becomes a copy of `other` as of `state`, on which events that its owner has not folded yet can be replayed. Any
  /// thread. `other` may go on meanwhile: a summary that is newer than an event is left as it is by that event.
  void copy_for_replay(const Tree& other, const State& state) noexcept;
  /// Adds all values of `other` (no writer meanwhile) to the same places here, and the mishaps. Here nobody records, so that
  /// histograms are packed, and no other thread looks.
  void merge(const Tree& other) noexcept;
  /// Forgets everything, and gives the memory back. Of a copy.
  void clear() noexcept { clear_shape(); }
  /// Sets all values to zero and keeps the shape. Nothing may be open.
  void clear_values() noexcept;
  /// Forgets open regions, counting them as never ended.
  void abandon_open() noexcept;

 private:
  static constexpr std::uint32_t kChunk = 64;
  struct Chunk {
    Node* node[kChunk] = {};
  };

  TAKT_ALWAYS_INLINE static Node* usual_child(Node* parent, TreeKey key) noexcept {
    Node* node = parent->last_child;
    if (TAKT_LIKELY(node->usual_key == key)) { return node; }
    node = node->next_guess;
    if (TAKT_UNLIKELY(node->usual_key != key)) { return nullptr; }
    parent->last_child = node;
    return node;
  }
  TAKT_ALWAYS_INLINE void open(Frame* frame, Node* node, std::uint32_t id, std::uint64_t ns) noexcept {
    frame->node.set(node);
    frame->begin_ns.set(ns);
    frame->child_ns.set(0);
    frame->id_flags.set(id);
    top_.set(frame);
  }
  /// \param inner of `length`, what regions inside covered.
  TAKT_ALWAYS_INLINE void fold(Node* node, std::uint64_t length, std::uint64_t inner, std::uint64_t position) noexcept {
    if (TAKT_UNLIKELY(special_ || node->host.is_empty())) {
      position_ = position;
      fold_special(node, length, inner);
      return;
    }
    node->begin_write(position);
    node->inner_ns.add(inner);
    if (TAKT_UNLIKELY(!node->host.try_add(length))) { node->host.add(length, budget_); }
    node->end_write(position);
  }

  void fold_special(Node* node, std::uint64_t length, std::uint64_t inner) noexcept;
  void fold_self(Node* node, std::uint64_t self) noexcept;
  void begin_unusual(TreeKey key, std::uint32_t id, std::uint64_t ns) noexcept;
  void begin_too_deep(TreeKey key, std::uint32_t id, std::uint64_t ns) noexcept;
  unsigned too_deep_frame() const noexcept;
  bool inside_overflow(unsigned at) const noexcept;
  Node* end_unusual(std::uint32_t id, std::uint64_t ns, std::uint64_t position) noexcept;
  Node* close(unsigned at, std::uint64_t ns) noexcept;
  void find_discarded() noexcept;
  void remove_frame(unsigned at) noexcept;
  void open_role(Frame& frame, TreeKey key, std::uint64_t ns) noexcept;
  void close_role(Node* node, std::uint32_t id, std::uint64_t ns, bool timed) noexcept;
  Node* ended_around(TreeKey key) noexcept;
  bool still_overlapped() const noexcept;
  bool is_open_at(const Node* node) const noexcept;
  Node* find_child(Node* parent, TreeKey key) noexcept;
  Node* look_up(const Node* parent, TreeKey key) const noexcept;
  Node* make_child(Node* parent, TreeKey key) noexcept;
  bool grow_table() noexcept;
  void table_insert(Node* node) noexcept;
  static std::size_t table_hash(const Node* parent, TreeKey key) noexcept {
    const std::uint64_t mixed = (reinterpret_cast<std::uintptr_t>(parent) >> 6U) * 0x9E3779B97F4A7C15U + key;
    return static_cast<std::size_t>((mixed * 0xD6E8FEB86659FD93U) >> 32U);
  }
  void set_depth(unsigned depth) noexcept { top_.set(frames_ + depth); }
  void set_special() noexcept {
    special_ = warm_.own() || replaying_;
    usual_limit_ = special_ || overlapped_ ? frames_ : frames_ + kMaxDepth;
  }
  void clear_shape() noexcept;

  TreeKey epoch_key_;
  TreeKey batch_key_;
  MemoryBudget* budget_;
  std::uint64_t position_ = 0;
  Relaxed<Frame*> top_{frames_};  // the innermost open region
  // What begins above a frame below it may be usual; none while special_ or overlapped_.
  Frame* usual_limit_ = frames_ + kMaxDepth;
  bool special_ = false;  // warm_ || replaying_: one look on the way of every call
  Relaxed<bool> warm_;
  bool replaying_ = false;
  bool overlapped_ = false;   // a region may have ended around one that is open
  bool discarded_ = false;    // an open region is not to be timed
  unsigned batch_depth_ = 0;  // Batches open
  Step step_;
  Relaxed<std::uint32_t> step_id_;  // of the open step, 0: none
  Node* lost_step_ = nullptr;
  std::uint64_t boundaries_ = 0;
  Counter warmup_batches_{10};
  TooDeep deep_;

  Frame frames_[kMaxDepth + 2];  // one more for all that is too deep
  Node root_, overflow_;
  std::atomic<Chunk*> chunks_[kMaxNodes / kChunk] = {};
  std::atomic<std::uint32_t> node_count_{0};
  Node** table_ = nullptr;  // open addressing by (parent, key)
  std::size_t table_size_ = 0;

  static constexpr unsigned kMishapSlots = 64;
  Relaxed<unsigned> mishap_count_;
  Count mishap_[kMishapSlots];
};

}  // namespace detail
TAKT_END_NAMESPACE

#include <takt/detail/tree_impl.hpp>
