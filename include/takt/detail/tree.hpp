// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>
#include <takt/detail/memory.hpp>
#include <takt/detail/node.hpp>
#include <takt/key.hpp>

#include <atomic>
#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// One thread's open regions and the totals of the ended ones: events in, summaries out. Times are in ns on one
/// monotonic axis. Owning thread only, except as Node and OpenFrame state for readers.
///
/// Self time comes from the stack: a region's self time is its length minus the time that regions above it on the stack
/// covered. An in-order end needs one subtraction; only an out-of-order end needs more (close).
class Tree {
 public:
  static constexpr unsigned kMaxDepth = detail::kMaxDepth;
  static constexpr unsigned kMaxOpen = 3968;  ///< maximum open regions: as many as an arena has places
  static constexpr unsigned kMaxLate = 1024;  ///< maximum expired regions that may still end
  static constexpr std::uint32_t kMaxNodes = 4096;

  using Frame = OpenFrame;

  /// \param epoch_key with `batch_key`, the keys that have a Role.
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
    give_frames(late_.own(), kMaxLate);
    if (frames() != few_) { give_frames(frames(), kMaxOpen + 2); }
  }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  /// Opens a region of `key` inside the innermost one that has not outlived its parent. `id` must differ from those of
  /// all open regions and be below Frame::kTooDeep.
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

  /// A region that ends before any other starts or ends, and its parent.
  struct Leaf {
    Node* node;
    Frame* around;
  };
  /// Returns the leaf's node and its parent frame; the node is nullptr unless fold_leaf() can replace begin() and
  /// end().
  TAKT_ALWAYS_INLINE Leaf usual_leaf(TreeKey key) noexcept {
    Frame* const top = top_.own();
    return {TAKT_LIKELY(top < usual_limit_) ? usual_child(top->node.own(), key) : nullptr, top};
  }
  /// \param leaf result of a usual_leaf() call immediately before.
  /// \param length less than 2^32 ns.
  TAKT_ALWAYS_INLINE void fold_leaf(Leaf leaf, std::uint64_t length, std::uint64_t position) noexcept {
    leaf.around->child_ns.add(length);
    leaf.node->begin_write(position);
    if (TAKT_UNLIKELY(!leaf.node->host.try_add_short(length))) { leaf.node->host.add(length, budget_); }
    leaf.node->end_write(position);
  }

  /// Removes the open region `id` from the stack without folding it; self times ignore it.
  bool detach(std::uint32_t id, Frame& taken) noexcept;
  /// Excludes all open regions from timing.
  void discard_open() noexcept;

  /// Adds a duration at the place of a region of `key` that starts now.
  Node* add_here(TreeKey key, std::uint64_t length) noexcept;
  /// Adds a duration to `node`, which must belong to this tree, without self time.
  void add_at(Node* node, std::uint64_t length) noexcept {
    fold(node, length, length, position_);
    node->away_calls.add(1);
    node->away_ns += length;
  }
  /// Returns the node of `key` below `parent`, creating it if necessary; the overflow node if that fails.
  Node* child(Node* parent, TreeKey key) noexcept {
    Node* usual = usual_child(parent, key);
    return usual != nullptr ? usual : find_child(parent, key);
  }
  /// Returns the node of a region of `key` that starts now: below the innermost one that has not outlived its parent.
  Node* place_for(TreeKey key) noexcept { return below(frames()[innermost_now()].node.own(), key); }
  Summary* device_of(Node* node) noexcept;

  void count(LossKind what, TreeKey key, std::uint64_t times = 1) noexcept { losses_.add(what, key, times); }

  // Reading. Nodes are in order of creation, parents before children.
  /// Acquire, here and in node(): pairs with make_child().
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
  /// Expired regions that may still end; oldest first.
  unsigned late() const noexcept { return late_count_.get(); }
  const Frame& late_frame(unsigned index) const noexcept { return late_.get()[index]; }
  /// Returns an open or an expired region; nullptr if `id` is neither.
  const Frame* find(std::uint32_t id) const noexcept;
  /// Returns the number of regions that have expired so far.
  std::uint64_t given_up() const noexcept { return given_up_.get(); }
  /// Returns the node of the innermost open region.
  Node* innermost() noexcept { return top_.own()->node.own(); }
  std::uint64_t covered_ns() const noexcept { return base_.get()[0].child_ns.get(); }
  const LossCounts& losses() const noexcept { return losses_; }
  bool has_discarded() const noexcept { return discarded_; }
  /// The number of open regions without a frame of their own, and the ids of the first 64 of these.
  std::uint64_t too_deep() const noexcept { return deep_.count.own(); }
  unsigned too_deep_known() const noexcept { return deep_.known.own(); }
  std::uint32_t too_deep_id(unsigned index) const noexcept { return deep_.id[index].own(); }
  bool is_open(std::uint32_t id) const noexcept;
  /// Returns true if `id` may be a region without a frame: some of their ids are unknown.
  bool is_too_deep(std::uint32_t id) const noexcept { return deep_.holds(id) || deep_.count.own() > deep_.known.own(); }
  bool is_discarded(std::uint32_t id) const noexcept;

  /// The outermost open Batch, or else the last one that ended.
  struct Step {
    Node* node = nullptr;
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
    bool open = false;
    bool warmup = false;
    std::uint32_t id = 0;
  };
  const Step& step() const noexcept { return step_; }
  /// Records that the ended step has its row: a later region may get its id.
  void step_reported() noexcept { step_.id = 0; }
  /// Returns the Batch of a step that has ended without its own time since the last take, else nullptr.
  bool has_lost_step() const noexcept { return lost_step_ != nullptr; }
  Node* take_lost_step() noexcept {
    Node* const lost = lost_step_;
    lost_step_ = nullptr;
    return lost;
  }
  /// Returns the duration of the Epoch that ended last on this thread, in ns. Valid right after its end.
  std::uint64_t last_epoch_ns() const noexcept { return last_epoch_ns_; }
  /// Returns the number of Epochs started and ended, and of untimed steps, so far.
  std::uint64_t boundaries() const noexcept { return boundaries_; }
  /// Records that a region at `node` was entered but not timed. For a step, only its existence is known, not its time.
  void step_skipped(const Node* node) noexcept {
    if (node->role == Role::batch && step_id_.own() == 0) { ++boundaries_; }
  }

  // Set-up and housekeeping.
  void set_warmup(std::uint64_t batches) noexcept { warmup_batches_.set(batches); }
  void set_position(std::uint64_t position) noexcept { position_ = position; }
  std::uint64_t position() const noexcept { return position_; }
  /// State that readers must see as of one moment (record/tree_state.hpp).
  struct State;
  /// Any thread, while the owner folds nothing (Recorder checks this by its sequence number).
  void save(State& state) const noexcept;
  /// Becomes a copy of `other` as of `state`, to replay events that its owner has not folded yet. Any thread. `other`
  /// may continue meanwhile: an event older than a summary does not change that summary.
  void copy_for_replay(const Tree& other, const State& state) noexcept { copy(other, state, true); }
  /// Same, without the values: only the places of regions.
  void copy_places(const Tree& other, const State& state) noexcept { copy(other, state, false); }
  /// Adds all values of `other` (no writer meanwhile) to the same places here, and its losses. No thread records here
  /// and no other thread reads, so histograms are packed.
  void merge(const Tree& other) noexcept;
  /// Clears a copy and frees its memory.
  void clear() noexcept { clear_shape(); }
  /// Sets all values to zero and keeps the shape. No region may be open.
  void clear_values() noexcept;
  /// Excludes the last `ns` from all open regions, as if each had started that much later.
  void leave_out(std::uint64_t ns, std::uint64_t now_ns) noexcept;
  /// Drops open regions and counts them as never ended.
  void drop_open() noexcept;
  /// Calls `use` for each region that has expired since the last call.
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
  /// Returns true if a step was lost or a region expired since take_lost_step() and take_given_up() were called.
  bool has_news() const noexcept { return news_; }
  /// Drops the oldest expired region; false if none.
  bool drop_late() noexcept;
  /// Returns true if some regions may still end.
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
  /// \param inner part of `length` that inner regions covered.
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
  void begin_unusual(TreeKey key, std::uint32_t id, std::uint64_t ns) noexcept;
  void begin_odd(TreeKey key, std::uint32_t id, std::uint64_t ns) noexcept;
  bool begin_usual_step(TreeKey key, std::uint32_t id, std::uint64_t ns) noexcept;
  void begin_too_deep(TreeKey key, std::uint32_t id, std::uint64_t ns) noexcept;
  unsigned too_deep_frame() const noexcept;
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
  unsigned space() const noexcept { return static_cast<unsigned>(limit_ - frames()); }
  Frame* frames() const noexcept { return base_.own(); }
  // Regions that outlive their parent: see tree_impl.hpp.
  void started_in(unsigned around) noexcept {
    top_.own()->outer.set(around);
    innermost_ = depth();
  }
  void outlive(unsigned at) noexcept;
  void outlive_step() noexcept;
  void give_up(unsigned at) noexcept;
  void keep_late(const Frame& frame) noexcept;
  bool take_late(std::uint32_t id, Frame& taken) noexcept;
  void came_late(Node* node) noexcept;
  /// Returns the frame of the innermost region that has not outlived its parent; a Batch or an Epoch outlives only
  /// others of these.
  unsigned innermost_now() const noexcept {
    if (TAKT_LIKELY(!overlapped_)) { return depth(); }
    unsigned at = innermost_;
    while (at > depth()) { at = frames()[at].outer.own(); }  // it has ended; its parents may have, too
    return at;
  }
  void find_discarded() noexcept;
  unsigned level_of(std::uint32_t id) const noexcept;
  void remove_frame(unsigned at) noexcept;
  void open_role(Frame& frame, TreeKey key, std::uint64_t ns) noexcept;
  void close_role(Node* node, std::uint32_t id, std::uint64_t ns, bool timed) noexcept;
  Node* below(Node* parent, TreeKey key) noexcept {
    Node* const node = child(parent, key);
    return TAKT_LIKELY(node != &overflow_ || parent == &overflow_) ? node : repeated(parent, key);
  }
  Node* repeated(Node* parent, TreeKey key) noexcept;
  Node* find_child(Node* parent, TreeKey key) noexcept;
  Node* look_up(const Node* parent, TreeKey key) const noexcept { return table_.find(parent, key); }
  Node* make_child(Node* parent, TreeKey key) noexcept;
  void set_depth(unsigned depth) noexcept { top_.set(frames() + depth); }
  void set_special() noexcept {
    special_ = warm_.own() || replaying_;
    usual_limit_ = special_ || overlapped_ ? frames() : limit_;
  }
  void clear_shape() noexcept;

  TreeKey epoch_key_;
  std::uint64_t last_epoch_ns_ = 0;
  TreeKey batch_key_;
  MemoryBudget* budget_;
  std::uint64_t position_ = 0;
  Relaxed<Frame*> top_{few_};  // the innermost open region
  // Regions that start above a frame below this may be usual; none while special_ or overlapped_.
  Frame* usual_limit_ = few_ + kMaxDepth;
  Frame* limit_ = few_ + kMaxDepth;
  bool special_ = false;  // warm_ || replaying_: one test in every call
  Relaxed<bool> warm_;
  bool replaying_ = false;
  bool overlapped_ = false;  // left_ != 0
  bool discarded_ = false;   // an open region is not timed
  bool news_ = false;        // see has_news()
  unsigned left_ = 0;        // frames with kLeft
  unsigned innermost_ = 0;   // while overlapped_: see innermost_now()
  Step step_;
  Relaxed<std::uint32_t> step_id_;  // id of the open step, 0: none
  Node* lost_step_ = nullptr;
  std::uint64_t boundaries_ = 0;
  Counter warmup_batches_{10};
  TooDeep deep_;

  Counter given_up_;
  Relaxed<Frame*> late_{nullptr};
  Relaxed<unsigned> late_count_;
  Relaxed<Frame*> base_{few_};
  Frame few_[kMaxDepth + 2];  // one extra frame, shared by all that are too deep
  Node root_, overflow_;
  std::atomic<Chunk*> chunks_[kMaxNodes / kChunk] = {};
  std::atomic<std::uint32_t> node_count_{0};
  NodeTable table_;
  LossCounts losses_;
};

}  // namespace detail
TAKT_END_NAMESPACE

#include <takt/detail/tree_impl.hpp>
