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
  never_ended,        ///< a region that was forgotten, or still open when its thread ended
  ended_elsewhere,    ///< a region ended on another thread than it began on: allowed, without self time
  clock_changed,      ///< a region open while the clock was replaced; not timed
  overflow,           ///< a region without room in the tree: beyond 64 deep, 4 096 paths, or the memory
  bad_amount,         ///< items() or bytes() of 0 or less
  device_skipped,     ///< no room, or no mark, for a device span
  device_failed,      ///< a device span that its backend could not give
  device_unresolved,  ///< a device span that had not finished when the run ended
  graph_missed,       ///< a device span of a graph that was replayed again before it could be read
  step_at_end,        ///< a step behind the last number that there is, which it gets, too
  ended_late,         ///< a region that ended after it had been given up as forgotten: in n and total only
  no_place,           ///< a region beyond all that can be open, or be in a graph: not timed
};
inline constexpr int kMishaps = 13;

/// The open regions of one thread and what has been folded of the ended ones: events in, summaries out. Times are in ns on
/// one monotonic axis. Owning thread only, but for what Node and Frame say of readers.
///
/// Self time by the stack: a region's self time is its length less the time that regions above it on the stack covered.
/// For an end in order that is one subtraction; only an end out of order looks further (close).
class Tree {
 public:
  static constexpr unsigned kMaxDepth = 64;     ///< keys in a path, and open regions until more room is made
  static constexpr unsigned kMaxOpen = 3968;    ///< open regions: as many as an arena has places
  static constexpr unsigned kMaxLate = 1024;    ///< regions given up that may still end
  static constexpr unsigned kMaxBatches = 8;    ///< Batches open inside each other
  static constexpr unsigned kPatientSteps = 8;  ///< how long a region outside of steps may outlive what it began in
  static constexpr std::uint32_t kMaxNodes = 4096;

  /// An open region. frames_[0] is none, but the thread itself: what its child_ns holds is covered by regions.
  struct Frame {
    static constexpr std::uint32_t kStep = 1U << 24U;       ///< a step that it has outlived; four bits
    static constexpr std::uint32_t kTaken = 1U << 28U;      ///< given up, and its owner knows
    static constexpr std::uint32_t kLeft = 1U << 29U;       ///< the Batch or Epoch that it began in has ended
    static constexpr std::uint32_t kRole = 1U << 30U;       ///< its end means more than its time
    static constexpr std::uint32_t kDiscarded = 1U << 31U;  ///< its length would be wrong; count it only
    static constexpr std::uint32_t kTooDeep = kStep - 1;    ///< the id of the frame that stands for all without room

    Relaxed<Node*> node;
    Counter begin_ns;
    Counter child_ns;  ///< covered by regions that were above this one
    /// The region's id, and flags, so that one comparison tells that an end is in order and nothing special.
    Relaxed<std::uint32_t> id_flags;

    std::uint32_t id() const noexcept { return id_flags.get() & (kStep - 1); }
    bool discarded() const noexcept { return has(kDiscarded); }
    bool has(std::uint32_t flag) const noexcept { return (id_flags.get() & flag) != 0; }
    void set(std::uint32_t flag) noexcept { id_flags.set(id_flags.own() | flag); }
  };
  struct Count {
    Relaxed<Mishap> mishap;
    Counter key;
    Counter count;
  };

  /// \param epoch_key with `batch_key` the keys with a Role.
  /// \param budget not owned, may be nullptr; memory for nodes and histogram pages is taken from it.
  Tree(TreeKey epoch_key, TreeKey batch_key, MemoryBudget* budget = nullptr) noexcept
      : epoch_key_(epoch_key), batch_key_(batch_key), budget_(budget) {
    few_[0].node.set(&root_);
    few_[0].id_flags.set(~std::uint32_t{0});
    overflow_.role = Role::overflow;
    root_.last_child = overflow_.last_child = overflow_.next_guess = &overflow_;
  }
  ~Tree() {
    clear_shape();
    delete[] table_;
    give_frames(late_.own(), kMaxLate);
    if (frames() != few_) { give_frames(frames(), kMaxOpen + 2); }
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
  /// The node of a region of `key` that would begin now: below the innermost open one, unless regions have ended around
  /// those that are open (place_overlapped).
  Node* place_for(TreeKey key) noexcept { return overlapped_ ? place_overlapped(key) : below(innermost(), key); }
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
  unsigned depth() const noexcept { return static_cast<unsigned>(top_.get() - base_.get()); }
  /// \param level 0 for the outermost open region.
  const Frame& frame(unsigned level) const noexcept { return base_.get()[level + 1]; }
  /// Regions that were given up as forgotten, and may still end; the oldest first.
  unsigned late() const noexcept { return late_count_.get(); }
  const Frame& late_frame(unsigned index) const noexcept { return late_.get()[index]; }
  /// An open region, or one of these; nullptr: neither.
  const Frame* find(std::uint32_t id) const noexcept;
  /// How many regions were given up so far.
  std::uint64_t given_up() const noexcept { return given_up_.get(); }
  /// The node of the innermost open region.
  Node* innermost() noexcept { return top_.own()->node.own(); }
  std::uint64_t covered_ns() const noexcept { return base_.get()[0].child_ns.get(); }
  unsigned mishaps() const noexcept { return mishap_count_.get(); }
  const Count& mishap(unsigned index) const noexcept { return mishap_[index]; }
  bool has_discarded() const noexcept { return discarded_; }
  /// How many open regions have no frame of their own, and the ids of the first 64 of these.
  std::uint64_t too_deep() const noexcept { return deep_.count.own(); }
  unsigned too_deep_known() const noexcept { return deep_.known.own(); }
  std::uint32_t too_deep_id(unsigned index) const noexcept { return deep_.id[index].own(); }
  bool is_open(std::uint32_t id) const noexcept;
  /// Whether it may be one of those without a frame: the ids of some are not known.
  bool is_too_deep(std::uint32_t id) const noexcept { return deep_.holds(id) || deep_.count.own() > deep_.known.own(); }
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
  /// Epochs begun and ended, and steps that were not timed, so far.
  std::uint64_t boundaries() const noexcept { return boundaries_; }
  /// A region at `node` was entered and not timed. Of a step it is known then that it was there, and not when.
  void step_skipped(const Node* node) noexcept {
    if (node->role == Role::batch && step_id_.own() == 0) { ++boundaries_; }
  }

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
  /// Copies of frames; more than 64 only where there is memory.
  class Frames {
   public:
    Frames() noexcept = default;
    ~Frames() { delete[] many_; }
    Frames(const Frames&) = delete;
    Frames& operator=(const Frames&) = delete;
    bool reserve(unsigned count) noexcept;
    unsigned room() const noexcept { return room_; }
    Frame& operator[](unsigned index) noexcept { return many_ != nullptr ? many_[index] : few_[index]; }
    const Frame& operator[](unsigned index) const noexcept { return many_ != nullptr ? many_[index] : few_[index]; }

   private:
    Frame few_[kMaxDepth + 1];
    Frame* many_ = nullptr;
    unsigned room_ = kMaxDepth + 1;
  };
  /// What readers must see as of one moment; the summaries carry positions of their own (Node::version).
  struct State {
    unsigned depth = 0;
    unsigned late = 0;
    std::uint32_t nodes = 0;
    TooDeep too_deep;
    std::uint64_t covered_ns = 0;
    bool warm = false;
    std::uint32_t step = 0;  // id of the open one, 0: none
    unsigned mishaps = 0;
    Frames frames;  // the open ones, then those given up
    Count mishap[64];
  };
  /// Any thread, while the owner folds nothing (Recorder checks that by its sequence number).
  void save(State& state) const noexcept;
  /// Becomes a copy of `other` as of `state`, on which events that its owner has not folded yet can be replayed. Any
  /// thread. `other` may go on meanwhile: a summary that is newer than an event is left as it is by that event.
  void copy_for_replay(const Tree& other, const State& state) noexcept { copy(other, state, true); }
  /// The same without the values: what is asked for is where regions stand.
  void copy_places(const Tree& other, const State& state) noexcept { copy(other, state, false); }
  /// Adds all values of `other` (no writer meanwhile) to the same places here, and the mishaps. Here nobody records, so that
  /// histograms are packed, and no other thread looks.
  void merge(const Tree& other) noexcept;
  /// Forgets everything, and gives the memory back. Of a copy.
  void clear() noexcept { clear_shape(); }
  /// Sets all values to zero and keeps the shape. Nothing may be open.
  void clear_values() noexcept;
  /// Forgets open regions, counting them as never ended.
  void abandon_open() noexcept;
  /// Tells of each region that was given up since it was last asked, then forgets the news.
  template <class Use>
  void take_given_up(Use use) noexcept {
    for (unsigned index = 0; index < late_count_.own(); ++index) {
      Frame& frame = late_.own()[index];
      if (frame.has(Frame::kTaken)) { continue; }
      frame.set(Frame::kTaken);
      use(frame);
    }
    news_ = false;
  }
  /// Whether a step was lost or a region given up, of which nobody has taken note.
  bool has_news() const noexcept { return news_; }
  /// Forgets the oldest region that was given up; false if there is none.
  bool drop_late() noexcept;
  /// Regions that may still end.
  bool is_unended() const noexcept { return depth() != 0 || late() != 0; }

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
  void begin_odd(TreeKey key, std::uint32_t id, std::uint64_t ns) noexcept;
  bool begin_usual_step(TreeKey key, std::uint32_t id, std::uint64_t ns) noexcept;
  void begin_too_deep(TreeKey key, std::uint32_t id, std::uint64_t ns) noexcept;
  unsigned too_deep_frame() const noexcept;
  bool inside_overflow(unsigned at) const noexcept;
  Node* end_unusual(std::uint32_t id, std::uint64_t ns, std::uint64_t position) noexcept;
  Node* end_odd(std::uint32_t id, std::uint64_t ns, std::uint64_t position) noexcept;
  Node* end_usual_step(std::uint32_t id, std::uint64_t ns, std::uint64_t position) noexcept;
  Node* end_late(std::uint32_t id, std::uint64_t ns) noexcept;
  Node* close(unsigned at, std::uint64_t ns) noexcept;
  void copy(const Tree& other, const State& state, bool values) noexcept;
  void copy_frames(const Tree& other, const State& state) noexcept;
  Frame* take_frames(unsigned count) noexcept;
  void give_frames(Frame* frames, unsigned count) noexcept;
  bool grow() noexcept;
  unsigned room() const noexcept { return static_cast<unsigned>(limit_ - frames()); }
  Frame* frames() const noexcept { return base_.own(); }
  // What was forgotten: tree_forgotten.hpp.
  void look_for_forgotten(TreeKey key) noexcept;
  void look_before_batch() noexcept;
  void look_before_epoch() noexcept;
  void role_ended(const Node* node, unsigned at, bool step) noexcept;
  void give_up_from(unsigned at) noexcept;
  void give_up(unsigned at) noexcept;
  void keep_late(const Frame& frame) noexcept;
  bool take_late(std::uint32_t id, Frame& taken) noexcept;
  void came_late(Node* node) noexcept;
  unsigned step_frame() const noexcept;
  unsigned innermost_now() const noexcept;
  unsigned enclosing() const noexcept;
  unsigned open_below(unsigned at, const Node* node) const noexcept;
  bool is_placed(unsigned at, unsigned anchor) const noexcept;
  bool is_orphan(unsigned at) const noexcept;
  static bool is_inside(const Node* node, const Node* around) noexcept;
  void find_discarded() noexcept;
  void remove_frame(unsigned at) noexcept;
  void open_role(Frame& frame, TreeKey key, std::uint64_t ns) noexcept;
  void close_role(Node* node, std::uint32_t id, std::uint64_t ns, bool timed) noexcept;
  Node* place_overlapped(TreeKey key) noexcept;
  Node* below(Node* parent, TreeKey key) noexcept {
    Node* const node = child(parent, key);
    return TAKT_LIKELY(node != &overflow_ || parent == &overflow_) ? node : repeated(parent, key);
  }
  Node* repeated(Node* parent, TreeKey key) noexcept;
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
  void set_depth(unsigned depth) noexcept { top_.set(frames() + depth); }
  void set_special() noexcept {
    special_ = warm_.own() || replaying_;
    usual_limit_ = special_ || overlapped_ ? frames() : limit_;
  }
  void clear_shape() noexcept;

  TreeKey epoch_key_;
  TreeKey batch_key_;
  MemoryBudget* budget_;
  std::uint64_t position_ = 0;
  Relaxed<Frame*> top_{few_};  // the innermost open region
  // What begins above a frame below it may be usual; none while special_ or overlapped_.
  Frame* usual_limit_ = few_ + kMaxDepth;
  Frame* limit_ = few_ + kMaxDepth;
  bool special_ = false;  // warm_ || replaying_: one look on the way of every call
  Relaxed<bool> warm_;
  bool replaying_ = false;
  bool overlapped_ = false;  // a region may have ended around one that is open
  bool discarded_ = false;   // an open region is not to be timed
  bool news_ = false;        // regions were given up that nobody has taken
  Step step_;
  Relaxed<std::uint32_t> step_id_;  // of the open step, 0: none
  Node* lost_step_ = nullptr;
  std::uint64_t boundaries_ = 0;
  Counter warmup_batches_{10};
  TooDeep deep_;

  Counter given_up_;
  Relaxed<Frame*> late_{nullptr};
  Relaxed<unsigned> late_count_;
  Relaxed<Frame*> base_{few_};
  Frame few_[kMaxDepth + 2];  // one more for all that is too deep
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

#include <takt/detail/tree_forgotten.hpp>
#include <takt/detail/tree_impl.hpp>
