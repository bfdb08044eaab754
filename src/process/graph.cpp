// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/graph.hpp>

#include "process/diversion.hpp"
#include "process/graph_state.hpp"
#include "process/process.hpp"

#include <new>

TAKT_BEGIN_NAMESPACE
namespace detail {

const DeviceOps GraphState::kOps{
    "graph",
    true,
    [](void*, Mark&) noexcept { return false; },
    [](void*, Mark) noexcept {},
    [](void* state, Mark begin, Mark end) noexcept { return static_cast<GraphState*>(state)->elapsed(begin, end); },
    [](void* state, Mark mark) noexcept { static_cast<GraphState*>(state)->release(mark); }};

unsigned GraphState::begin(KeyIndex key, StreamRef stream) noexcept {
  if (count_ == kMax) { return kNone; }
  Region& region = region_[count_];
  region.key = key;
  region.around = innermost_;
  region.begin.stream = stream;
  region.end.stream = stream;
  if (stream.ops != nullptr) { device_kinds().add(stream.ops); }
  const bool can = stream.ops != nullptr && stream.ops->graph_mark != nullptr;
  region.begin.marked = can && stream.ops->graph_mark(stream.handle, region.begin.mark);
  return innermost_ = count_++;
}

void GraphState::end(unsigned number) noexcept {
  if (number == kNone) { return; }
  Region& region = region_[number];
  const StreamRef stream = region.end.stream;
  region.end.marked = region.begin.marked && stream.ops->graph_mark(stream.handle, region.end.mark);
  innermost_ = region.around;
}

void GraphState::launching(Recorder* here, const void* executable) noexcept {
  if (executable_ == nullptr) { executable_ = executable; }
  // visible with the increment of launches_ below
  if (executable != executable_) { mixed_.store(true, std::memory_order_relaxed); }
  const bool pending = here != nullptr && users_.load(std::memory_order_relaxed) != 1;
  if (pending) { here->poll(ref()); }  // last chance to read the previous replay
  launches_.fetch_add(
      1, std::memory_order_seq_cst);   // pairs with elapsed(); before the launch, so that its writes imply it
  if (pending) { here->poll(ref()); }  // spans that are still unread are missed
}

void GraphState::launched(Recorder* here, StreamRef stream) noexcept {
  if (here == nullptr || stream.ops == nullptr) { return; }
  const std::uint64_t launch = launches_.load(std::memory_order_relaxed);
  DeviceBegin behind{stream, 0, false};
  behind.marked = stream.ops->graph_mark != nullptr && stream.ops->mark(stream.handle, behind.mark);
  std::array<Node*, kMax> node{};
  for (unsigned number = 0; number < count_; ++number) {
    const Region& region = region_[number];
    node[number] = here->child(region.around == kNone ? nullptr : node[region.around], region.key);
    const bool timed = behind.marked && region.end.marked && region.end.stream.ops == stream.ops;
    if (timed) {
      stream.ops->retain(stream.handle, behind.mark);
      users_.fetch_add(1, std::memory_order_relaxed);
    }
    here->add_span(node[number], {ref(), behind.mark, timed}, {ref(), number_of(launch, number), timed});
  }
  behind.release();
}

/// Records spans of the launch before, which can no longer be read: they count as missed.
void GraphState::left(Recorder* here, StreamRef stream) noexcept {
  if (here == nullptr || stream.ops == nullptr) { return; }
  const std::uint64_t before = launches_.load(std::memory_order_relaxed) - 1;
  std::array<Node*, kMax> node{};
  for (unsigned number = 0; number < count_; ++number) {
    const Region& region = region_[number];
    node[number] = here->child(region.around == kNone ? nullptr : node[region.around], region.key);
    users_.fetch_add(2, std::memory_order_relaxed);
    const DeviceBegin mark{ref(), number_of(before, number), true};
    here->add_span(node[number], mark, mark);
  }
}

Elapsed GraphState::elapsed(Mark behind, Mark number) noexcept {
  const std::uint64_t launch = launch_of(number);
  if (launches_.load(std::memory_order_seq_cst) != launch) { return Elapsed::missed(); }  // pairs with launching()
  if (mixed_.load(std::memory_order_relaxed)) { return Elapsed::missed(); }
  const Region& region = region_[region_of(number)];
  const StreamRef stream = region.end.stream;
  const Elapsed reached = stream.ops->elapsed(stream.handle, behind, behind);
  if (reached.state != Elapsed::State::ready) { return reached; }
  finished_.store(launch, std::memory_order_relaxed);
  // Also missed if the graph never ran because the launch was refused without notice.
  const Elapsed result = stream.ops->elapsed(stream.handle, region.begin.mark, region.end.mark);
  // If the next replay had already written, its announcement would be visible. Pairs with launching().
  return launches_.load(std::memory_order_seq_cst) == launch ? result : Elapsed::missed();
}

void GraphState::release(Mark mark) noexcept {
  if ((mark & kNumber) != 0) {
    drop();
  } else {
    const StreamRef stream = region_[0].end.stream;  // any stream works, see DeviceOps::graph_mark
    stream.ops->release(stream.handle, mark);
  }
}

void GraphState::drop() noexcept {
  // Pairs with itself: the last user sees the results of all others.
  if (users_.fetch_sub(1, std::memory_order_acq_rel) != 1) { return; }
  // Keeps the events if a replay may still run: it would write into events that another region uses by then.
  if (finished_.load(std::memory_order_relaxed) == launches_.load(std::memory_order_relaxed)) { forget_events(); }
  delete this;
}

void GraphState::forget_events() noexcept {
  for (unsigned number = 0; number < count_; ++number) {
    region_[number].begin.release();
    region_[number].end.release();
  }
}

}  // namespace detail

GraphRegions::GraphRegions() noexcept : state_(new (std::nothrow) detail::GraphState) {}

GraphRegions::~GraphRegions() {
  if (state_ != nullptr) { state_->drop(); }
}

unsigned GraphRegions::begin(const Key& key, StreamRef stream) noexcept {
  // Not excluded: a graph outlives the trials in which it may be captured.
  const detail::KeyIndex index = detail::is_excluded() ? detail::key_table().resolve(key) : detail::admitted(key);
  if (index == detail::kNoKey) { return detail::GraphState::kNone; }
  const unsigned region = state_ == nullptr ? detail::GraphState::kNone : state_->begin(index, stream);
  detail::Recorder* const here = detail::this_recorder();
  if (region == detail::GraphState::kNone && here != nullptr) { here->count_loss(detail::LossKind::no_place, index); }
  return region;
}

void GraphRegions::end(unsigned region) noexcept {
  if (state_ != nullptr) { state_->end(region); }
}

void GraphRegions::launching(const void* executable) noexcept {
  if (state_ != nullptr) { state_->launching(detail::existing_recorder(), executable); }
}

void GraphRegions::launched(StreamRef stream, bool known) noexcept {
  if (state_ == nullptr || state_->is_empty()) { return; }
  const bool excluded = detail::is_excluded();
  if (excluded) { detail::diversion().note(stream); }
  const bool off =
      excluded || (detail::mode().load(std::memory_order_relaxed) & (detail::kModeDisabled | detail::kModeForked)) != 0;
  detail::Recorder* const here = off ? nullptr : detail::this_recorder();
  if (known) {
    state_->launched(here, stream);
  } else {
    state_->left(here, stream);
  }
}

TAKT_END_NAMESPACE
