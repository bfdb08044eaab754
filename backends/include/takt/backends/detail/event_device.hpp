// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/backend.hpp>
#include <takt/backends/detail/event_api.hpp>
#include <takt/backends/detail/event_contexts.hpp>
#include <takt/backends/detail/stream_space.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <type_traits>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// All that a process keeps of one kind of device: its contexts with their events, and what was not timed. Any thread;
/// takes no lock, never waits for the device, and calls the driver only where that can be noticed by nobody.
template <class Api>
class EventDevice {
 public:
  using Stream = typename Api::Stream;
  static constexpr unsigned kContexts = EventContexts<Api>::kMax;
  static constexpr std::uint32_t kFirstEvents = 256;     ///< of a context
  static constexpr std::uint64_t kPauseNs = 20'000'000;  ///< see Api::pauses_at_captures()

  /// Never destroyed: threads may outlive static objects.
  static EventDevice& instance() noexcept {
    static_assert(std::is_trivially_destructible_v<EventDevice>, "it lives to the very end");
    static EventDevice device;  // constant-initialised: a guard might be held at a fork
    return device;
  }

  /// Records an event on `stream`; false, and counted, where that would be noticed or cannot be done.
  /// \param begins a region: some room is kept for ends.
  bool mark(Stream stream, Mark& mark, bool begins) noexcept {
    const ErrnoKept errno_kept;
    if (!may_mark()) { return false; }
    EventStatus status = EventStatus::done;
    if (TAKT_LIKELY(mark_on(stream, mark, begins, status))) { return true; }
    if (status == EventStatus::no_context && visit_stream<Api>(stream, 0)) {
      const bool is_marked = mark_on(stream, mark, begins, status);
      Api::leave();
      if (is_marked) { return true; }
    }
    return status != EventStatus::done && skip(status);
  }

  /// Puts an event into the graph that `stream` is being captured into: each replay records it again, until it is
  /// released.
  bool graph_mark(Stream stream, Mark& mark) noexcept {
    const ErrnoKept errno_kept;
    if (!may_mark()) { return false; }
    const RelaxedMode<Api> relaxed;
    EventContextId id;
    if (const EventStatus status = Api::enter_capture(stream, id); status != EventStatus::done) { return skip(status); }
    pause();  // somebody captures
    Slot* slot = take_slot(id);
    if (slot == nullptr) { return false; }
    slot->handle = nullptr;
    slot->stream = nullptr;  // where it stands is not known until the graph is launched
    slot->number = 0;
    const EventStatus status = Api::record_in_graph(slot->event, stream);
    return marked(*slot, status, mark) || skip(status);
  }

  /// While a time line is recorded: `mark`, which the calling thread has just made, is measured from the newest anchor,
  /// or is one.
  void offer(Mark mark) noexcept {
    Slot& slot = slot_of(mark);
    AnchorChain<Api>& anchors = context_of(slot).anchors;
    if (const std::uint64_t now_ns = Api::now_ns(); anchors.is_due(now_ns)) {
      retain(mark);
      Mark unused = mark;
      if (!anchors.add(slot.event, stream_of(slot), mark, now_ns, unused)) { unused = mark; }
      if (unused != 0) { release(unused); }
    }
    slot.anchor = anchors.newest();
  }
  /// Where `mark`, which has finished, lies on the time line of its context.
  bool locate(Mark mark, DevicePlace& place) noexcept {
    const Slot& slot = slot_of(mark);
    Context& context = context_of(slot);
    if (Api::unavailable() != nullptr || context.lost.load(std::memory_order_relaxed)) { return false; }
    const ErrnoKept errno_kept;
    if (is_paused() || !Api::may_call()) { return false; }
    Queries queries;
    const bool is_asked = begin_asking(context, queries) == EventStatus::done;
    place.line = &context;
    const bool is_located = is_asked && context.anchors.locate(slot.event, slot.anchor, place);
    end_queries(queries);
    return is_located;
  }

  void retain(Mark mark) noexcept { slot_of(mark).uses.fetch_add(1, std::memory_order_relaxed); }

  void release(Mark mark) noexcept {
    Slot& slot = slot_of(mark);
    // Pairs with itself. The next user of the slot overwrites what others have read.
    if (slot.uses.fetch_sub(1, std::memory_order_acq_rel) != 1) { return; }
    space_in(context_of(slot)).released(slot);
  }

  Elapsed elapsed(Mark begin, Mark end) noexcept {
    Queries queries;
    const Elapsed result = elapsed(begin, end, queries);
    end_queries(queries);
    return result;
  }
  Elapsed elapsed(Mark begin, Mark end, Queries& queries) noexcept {
    Slot& from = slot_of(begin);
    Slot& to = slot_of(end);
    Context& context = context_of(to);
    if (Api::unavailable() != nullptr || context.lost.load(std::memory_order_relaxed)) { return lose(); }
    // Stream 0 is another one on each device, and the per-thread stream on each thread. A driver takes events of two
    // contexts for invalid ones; the distance of those of two streams says nothing.
    if (from.context != to.context || from.stream != to.stream) {
      counts_.add(EventCounts::kOtherStream);
      return Elapsed::failed();
    }
    const ErrnoKept errno_kept;
    if (is_paused() || !Api::may_call()) { return Elapsed::pending(); }
    if (const EventStatus status = begin_asking(context, queries); status != EventStatus::done) {
      return answer(context, status);
    }
    if (context.events.is_low()) { grow_ahead(context); }
    // Of one mark the driver is asked itself: there will be no question for a time to correct what StreamProgress says.
    if (begin == end || to.stream == nullptr || !to.stream->has_finished(to.number)) {
      const EventStatus status = ask(context, queries, [&] { return query(to, queries); });
      if (status != EventStatus::done) { return answer(context, status); }
      if (to.stream != nullptr) { to.stream->set_finished(to.number); }
      from.finished.store(true, std::memory_order_relaxed);  // no stream is destroyed inside a region
    }
    if (begin == end) { return Elapsed::ready(0); }
    float ms = 0;
    const EventStatus status = ask(context, queries, [&] {
      const EventStatus seen = poll_once(to, queries);
      return seen == EventStatus::done ? Api::elapsed(from.event, to.event, ms) : seen;
    });
    if (status != EventStatus::done) { return answer(context, status); }
    for (Slot* each : {&from, &to}) { each->finished.store(true, std::memory_order_relaxed); }
    if (!(ms < kMaxMs)) { return Elapsed::failed(); }  // or it is no number
    if (ms < 0) { counts_.add(EventCounts::kNegative); }
    return Elapsed::ready(ms < 0 ? 0 : std::llround(static_cast<double>(ms) * 1e6));
  }

  /// For trials and measurements alone, and never on behalf of a stream that is being captured.
  bool wait(Stream stream, Mark mark) noexcept {
    const ErrnoKept errno_kept;
    Slot& slot = slot_of(mark);
    EventContextId id;
    if (Api::unavailable() != nullptr || context_of(slot).lost.load(std::memory_order_relaxed)) { return false; }
    if (!Api::may_call()) { return false; }
    EventStatus entered = Api::enter(stream, id);
    if (entered == EventStatus::no_context && visit_stream<Api>(stream, 0)) {
      entered = Api::enter(stream, id);
      Api::leave();
    }
    if (entered != EventStatus::done) { return false; }
    Queries queries;
    const bool reached = begin_asking(context_of(slot), queries) == EventStatus::done &&
                         poll_once(slot, queries) == EventStatus::done && Api::wait(slot.event) == EventStatus::done;
    end_queries(queries);
    return reached;
  }
  void end_queries(Queries& queries) noexcept {
    const ErrnoKept errno_kept;
    if (TAKT_UNLIKELY(queries.visiting)) { Api::leave(); }
    if (queries.started && queries.mode != kUnknownMode) { Api::exchange_mode(queries.mode); }
    queries = Queries();
  }

  DeviceReport report() const noexcept {
    DeviceReport report;
    unsigned lost = 0;
    const unsigned contexts = contexts_.count(lost);
    report.unavailable = Api::unavailable();
    report.caveat = Api::caveat();
    if (report.caveat == nullptr && counts_.of(EventCounts::kUnsupported) != 0) {
      report.caveat = "regions inside graphs have no stream spans: unsupported by this kind of device, or its driver";
    }
    if (report.unavailable == nullptr && contexts != 0 && lost == contexts) { report.unavailable = Api::error_text(); }
    if (report.unavailable == nullptr && contexts == 0 && counts_.of(EventCounts::kNoContext) != 0) {
      report.unavailable = "no thread that passed a stream had a context of the device";
    }
    counts_.report(report);
    return report;
  }

  /// Events made so far, and those of them that are free; of all contexts.
  std::uint32_t events() const noexcept { return contexts_.sum(&Pool::made); }
  std::uint32_t free_events() const noexcept { return contexts_.sum(&Pool::free); }

 private:
  using Context = EventContext<Api>;
  using Pool = typename Context::Pool;
  using Slot = typename Pool::Slot;
  using Space = StreamSpace<Api>;
  static constexpr int kUnknownMode = -1;
  static constexpr float kMaxMs = 9e12F;  // what 64 bits hold in ns

  static Slot& slot_of(Mark mark) noexcept { return *reinterpret_cast<Slot*>(static_cast<std::uintptr_t>(mark)); }
  static Mark mark_of(Slot& slot) noexcept { return reinterpret_cast<std::uintptr_t>(&slot); }
  static Context& context_of(const Slot& slot) noexcept { return *static_cast<Context*>(slot.context); }

  static Space space_in(Context& context) noexcept { return Space(context.events, context.streams); }

  bool may_mark() noexcept {
    if (Api::unavailable() != nullptr) { return false; }
    return Api::may_call() || skip(EventStatus::pending_error);
  }
  /// Whether that was done; if not, what the driver has answered, or done where that is counted already.
  bool mark_on(Stream stream, Mark& mark, bool begins, EventStatus& status) noexcept {
    EventContextId id;
    status = Api::enter(stream, id);
    if (status != EventStatus::done) { return false; }
    Slot* slot = take_slot(id);
    if (slot == nullptr) { return false; }
    slot->handle = stream;
    Space space = space_in(context_of(*slot));
    const std::uintptr_t order = Api::order_of(stream) ^ id.part;
    if (!space.take(*slot, order, begins, is_paused())) {
      counts_.add(slot->stream == nullptr ? EventCounts::kTooManyStreams : EventCounts::kStreamFull);
      context_of(*slot).events.give(*slot);
      return false;
    }
    status = Api::record(slot->event, stream);
    return marked(*slot, status, mark) && Space::recorded(*slot);
  }
  /// A free event of a context; nullptr, counted, where there is none.
  Slot* take_slot(const EventContextId& id) noexcept {
    Context* context = contexts_.find(id);
    if (context == nullptr) {
      counts_.add(EventCounts::kTooManyContexts);
      return nullptr;
    }
    if (context->lost.load(std::memory_order_relaxed)) {
      counts_.add(EventCounts::kLost);
      return nullptr;
    }
    Slot* slot = context->events.take();
    if (slot == nullptr && grow(*context)) { slot = context->events.take(); }
    if (slot == nullptr) {
      counts_.add(EventCounts::kNoEvent);
      return nullptr;
    }
    slot->uses.store(1, std::memory_order_relaxed);
    slot->anchor = AnchorChain<Api>::kNone;
    slot->finished.store(false, std::memory_order_relaxed);
    return slot;
  }
  bool marked(Slot& slot, EventStatus status, Mark& mark) noexcept {
    if (status != EventStatus::done) {
      Context& context = context_of(slot);
      space_in(context).refused(slot);
      note(context, status);
      return false;
    }
    mark = mark_of(slot);
    return true;
  }
  /// Once in a row of questions: what makes them harmless to captures, and whether there is a context to ask about. One
  /// that has been reset took its events along.
  EventStatus begin_asking(const Context& context, Queries& queries) noexcept {
    if (!queries.started) {
      queries.started = true;
      queries.mode = kRelaxedCaptureMode;
      if (!Api::exchange_mode(queries.mode)) { queries.mode = kUnknownMode; }
    }
    if (queries.mode == kUnknownMode) { return EventStatus::not_ready; }  // a question would harm captures of others
    if (queries.context == &context) { return EventStatus::done; }
    EventStatus status = Api::alive(context.id);
    if (TAKT_UNLIKELY(status == EventStatus::no_context)) { status = visit(context, queries); }
    if (status == EventStatus::done) { queries.context = &context; }
    return status;
  }
  /// The calling thread has no context, or another one. Without the relaxed mode questions of a thread that has none
  /// would end captures of others.
  EventStatus visit(const Context& context, Queries& queries) noexcept {
    queries.context = nullptr;
    if (queries.visiting) { Api::leave(); }
    queries.visiting = queries.mode != kUnknownMode && Api::visit(context.id);
    return queries.visiting ? Api::alive(context.id) : EventStatus::no_context;
  }

  static Stream stream_of(const Slot& slot) noexcept { return static_cast<Stream>(slot.handle); }
  static EventStatus query(Slot& slot, Queries& queries) noexcept {
    queries.stream = nullptr;  // a capture may have begun since it was looked at
    EventStatus status = poll_once(slot, queries);
    if (status == EventStatus::done) { status = Api::query(slot.event); }
    if (status == EventStatus::done) { slot.finished.store(true, std::memory_order_relaxed); }
    return status;
  }
  static EventStatus query_alone(Slot& slot) noexcept {
    Queries queries;
    return query(slot, queries);
  }
  /// Once in a row of questions, and before each query: whether a question about this event does no harm to its stream.
  static EventStatus poll_once(const Slot& slot, Queries& queries) noexcept {
    if (slot.handle == nullptr || queries.stream == slot.handle) { return EventStatus::done; }
    const EventStatus status = check_stream<Api>(stream_of(slot));
    if (status == EventStatus::done) { queries.stream = slot.handle; }
    return status;
  }

  /// The question again as a visitor, where the calling thread, which takes in the results of one that has ended, has
  /// no context.
  template <class Question>
  EventStatus ask(const Context& context, Queries& queries, Question question) noexcept {
    const EventStatus status = question();
    if (TAKT_LIKELY(status != EventStatus::no_context) || queries.visiting) { return status; }
    if (const EventStatus visited = visit(context, queries); visited != EventStatus::done) { return visited; }
    queries.context = &context;
    return question();
  }

  /// More free events: those that have finished since they were given back, else new ones. The first time as many as a
  /// stream may have in flight, so that none is made in the midst of training.
  bool grow(Context& context) noexcept {
    const RelaxedMode<Api> relaxed;
    if (space_in(context).recycle(&EventDevice::query_alone)) { return true; }
    const std::uint32_t wanted = context.events.made() == 0 ? std::min(max_in_flight(), kFirstEvents) : 0;
    bool has_more = false;
    do {
      const bool made = context.events.grow(&context, [&context](typename Api::Event& event) {
        return Api::create(context.id, event) == EventStatus::done;
      });
      if (!made) { return has_more; }
      has_more = true;
    } while (context.events.made() < wanted);
    return true;
  }
  /// While results are looked at, so that marks need not.
  void grow_ahead(Context& context) noexcept {
    if (context.growing.exchange(true, std::memory_order_acquire)) { return; }  // pairs with the release below
    grow(context);
    context.growing.store(false, std::memory_order_release);  // pairs with the acquire above
  }

  bool skip(EventStatus status) noexcept {
    if (status == EventStatus::capturing) { pause(); }
    counts_.skipped(status);
    return false;
  }
  Elapsed answer(Context& context, EventStatus status) noexcept {
    note(context, status);
    if (status == EventStatus::lost) { return lose(); }
    if (status == EventStatus::capturing) { pause(); }
    if (status == EventStatus::not_recorded) { return Elapsed::missed(); }
    if (status == EventStatus::stream_gone) { counts_.add(EventCounts::kStreamGone); }
    return status == EventStatus::refused || status == EventStatus::stream_gone ? Elapsed::failed()
                                                                                : Elapsed::pending();
  }
  Elapsed lose() noexcept {
    counts_.add(EventCounts::kLost);
    return Elapsed::failed();
  }
  void note(Context& context, EventStatus status) noexcept {
    if (status == EventStatus::lost) { context.lost.store(true, std::memory_order_relaxed); }
  }

  void pause() noexcept { paused_until_.store(Api::now_ns() + kPauseNs, std::memory_order_relaxed); }
  /// Whether nothing may be asked now.
  bool is_paused() noexcept {
    if (!Api::pauses_at_captures()) { return false; }
    const std::uint64_t until = paused_until_.load(std::memory_order_relaxed);
    if (TAKT_LIKELY(until == 0)) { return false; }
    if (Api::now_ns() < until) { return true; }
    paused_until_.store(0, std::memory_order_relaxed);
    return false;
  }

  EventContexts<Api> contexts_;
  EventCounts counts_;
  std::atomic<std::uint64_t> paused_until_{0};
};

}  // namespace detail
TAKT_END_NAMESPACE
