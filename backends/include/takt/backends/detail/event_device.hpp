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

/// Process-wide state of one kind of device: its contexts with their events, and counts of untimed spans. Any thread.
/// Takes no lock, never waits for the device, and calls the driver only if the application cannot notice.
template <class Api>
class EventDevice {
 public:
  using Stream = typename Api::Stream;
  static constexpr unsigned kContexts = EventContexts<Api>::kMax;
  static constexpr std::uint32_t kFirstEvents = 256;     ///< per context
  static constexpr std::uint64_t kPauseNs = 20'000'000;  ///< see Api::pauses_at_captures()

  /// Never destroyed: threads may outlive static objects.
  static EventDevice& instance() noexcept {
    static_assert(std::is_trivially_destructible_v<EventDevice>, "it lives to the very end");
    static EventDevice device;  // constant-initialized: a fork may hold a guard
    return device;
  }

  /// Records an event on `stream`. Returns false, and counts it, if impossible or if the application can notice.
  bool mark(Stream stream, Mark& mark) noexcept { return mark_anew(stream, mark, false); }
  /// mark() for the start of a region: reserves some capacity for ends.
  bool mark_begin(Stream stream, Mark& mark) noexcept { return mark_anew(stream, mark, true); }
  /// mark() for the end of a region that starts at `begin`. Takes the context from there, because a stream lives as
  /// long as its regions; the driver is asked only for a default stream, whose context depends on the thread.
  bool mark_end(Stream stream, Mark begin, Mark& mark) noexcept {
    const ErrnoKept errno_kept;
    const Slot& start = slot_of(begin);
    if (!Api::keeps_context(stream) || start.stream == nullptr) { return mark_anew(stream, mark, false); }
    if (!may_mark()) { return false; }
    EventStatus status = Api::check_capture(stream);
    const std::uintptr_t order = start.stream->stream.load(std::memory_order_relaxed);
    if (status == EventStatus::done && record_on(stream, context_of(start), order, mark, false, status)) {
      return true;
    }
    return mark_as_visitor(stream, mark, false, status);
  }

  /// Adds an event to the graph that `stream` is being captured into: each replay records it again, until it is
  /// released.
  bool graph_mark(Stream stream, Mark& mark) noexcept {
    const ErrnoKept errno_kept;
    if (!may_mark()) { return false; }
    const RelaxedMode<Api> relaxed;
    EventContextId id;
    if (const EventStatus status = Api::enter_capture(stream, id); status != EventStatus::done) { return skip(status); }
    pause();  // a stream is being captured
    Context* context = find(id);
    Slot* slot = context == nullptr ? nullptr : take_slot(*context);
    if (slot == nullptr) { return false; }
    slot->handle = nullptr;
    slot->stream = nullptr;  // its stream is unknown until the graph is launched
    slot->number = 0;
    const EventStatus status = Api::record_in_graph(slot->event, stream);
    return marked(*slot, status, mark) || skip(status);
  }

  /// Measures `mark`, which the calling thread has just recorded, from the newest anchor, or makes it one; while a time
  /// line is recorded.
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
  /// Locates a finished `mark` on the time line of its context.
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
    // Stream 0 differs per device, and the per-thread stream per thread. A driver rejects two events of different
    // contexts; the distance of events on different streams is meaningless.
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
    // For one timestamp, query the driver: no later request for a time corrects StreamProgress.
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
    if (!(ms < kMaxMs)) { return Elapsed::failed(); }  // too large, or NaN
    if (ms < 0) { counts_.add(EventCounts::kNegative); }
    return Elapsed::ready(ms < 0 ? 0 : std::llround(static_cast<double>(ms) * 1e6));
  }

  /// For trials and measurements only. Must not be called for a capturing stream.
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

  /// Events created so far, and free events, over all contexts.
  std::uint32_t events() const noexcept { return contexts_.sum(&Pool::made); }
  std::uint32_t free_events() const noexcept { return contexts_.sum(&Pool::free); }

 private:
  using Context = EventContext<Api>;
  using Pool = typename Context::Pool;
  using Slot = typename Pool::Slot;
  using Space = StreamSpace<Api>;
  static constexpr int kUnknownMode = -1;
  static constexpr float kMaxMs = 9e12F;  // fits 64-bit ns

  static Slot& slot_of(Mark mark) noexcept { return *reinterpret_cast<Slot*>(static_cast<std::uintptr_t>(mark)); }
  static Mark mark_of(Slot& slot) noexcept { return reinterpret_cast<std::uintptr_t>(&slot); }
  static Context& context_of(const Slot& slot) noexcept { return *static_cast<Context*>(slot.context); }

  static Space space_in(Context& context) noexcept { return Space(context.events, context.streams); }

  bool may_mark() noexcept {
    if (Api::unavailable() != nullptr) { return false; }
    return Api::may_call() || skip(EventStatus::pending_error);
  }
  bool mark_anew(Stream stream, Mark& mark, bool begins) noexcept {
    const ErrnoKept errno_kept;
    if (!may_mark()) { return false; }
    EventStatus status = EventStatus::done;
    return TAKT_LIKELY(mark_on(stream, mark, begins, status)) || mark_as_visitor(stream, mark, begins, status);
  }
  /// After a refusal with `status`: tries again in the stream's context if the thread has none.
  bool mark_as_visitor(Stream stream, Mark& mark, bool begins, EventStatus status) noexcept {
    if (status == EventStatus::no_context && visit_stream<Api>(stream, 0)) {
      const bool is_marked = mark_on(stream, mark, begins, status);
      Api::leave();
      if (is_marked) { return true; }
    }
    return skip_unless_done(status);
  }
  /// Returns true on success. Otherwise `status` is the driver's answer, or done if the skip was counted already.
  bool mark_on(Stream stream, Mark& mark, bool begins, EventStatus& status) noexcept {
    EventContextId id;
    status = Api::enter(stream, id);
    if (status != EventStatus::done) { return false; }
    Context* context = find(id);
    return context != nullptr && record_on(stream, *context, Api::order_of(stream) ^ id.part, mark, begins, status);
  }
  /// Like mark_on(), in a known context. \param order of the stream in this context (StreamTable).
  bool record_on(Stream stream, Context& context, std::uintptr_t order, Mark& mark, bool begins,
                 EventStatus& status) noexcept {
    Slot* slot = take_slot(context);
    if (slot == nullptr) { return false; }
    slot->handle = stream;
    Space space = space_in(context);
    if (const EventStatus taken = space.take(*slot, order, begins, is_paused()); taken != EventStatus::done) {
      if (taken == EventStatus::no_context) {
        status = taken;
      } else {
        counts_.add(slot->stream == nullptr ? EventCounts::kTooManyStreams : EventCounts::kStreamFull);
      }
      context.events.give(*slot);
      return false;
    }
    status = Api::record(slot->event, stream);
    return marked(*slot, status, mark) && Space::recorded(*slot);
  }
  /// Returns the context; nullptr, and counted, if there are too many.
  Context* find(const EventContextId& id) noexcept {
    Context* context = contexts_.find(id);
    if (context == nullptr) { counts_.add(EventCounts::kTooManyContexts); }
    return context;
  }
  /// Returns a free event of a context; nullptr, and counted, if none.
  Slot* take_slot(Context& context) noexcept {
    if (context.lost.load(std::memory_order_relaxed)) {
      counts_.add(EventCounts::kLost);
      return nullptr;
    }
    Slot* slot = context.events.take();
    if (slot == nullptr && grow(context)) { slot = context.events.take(); }
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
  /// Prepares a batch of queries, once: makes them harmless to captures, and checks that the context exists. A reset
  /// context has taken its events along.
  EventStatus begin_asking(const Context& context, Queries& queries) noexcept {
    if (!queries.started) {
      queries.started = true;
      queries.mode = kRelaxedCaptureMode;
      if (!Api::exchange_mode(queries.mode)) { queries.mode = kUnknownMode; }
    }
    if (queries.mode == kUnknownMode) { return EventStatus::not_ready; }  // a query can break captures of other threads
    if (queries.context == &context) { return EventStatus::done; }
    EventStatus status = Api::alive(context.id);
    if (TAKT_UNLIKELY(status == EventStatus::no_context)) { status = visit(context, queries); }
    if (status == EventStatus::done) { queries.context = &context; }
    return status;
  }
  /// Visits the context, because the calling thread has none or another one. Without the relaxed mode, queries of a
  /// thread without a context end captures of other threads.
  EventStatus visit(const Context& context, Queries& queries) noexcept {
    queries.context = nullptr;
    if (queries.visiting) { Api::leave(); }
    queries.visiting = queries.mode != kUnknownMode && Api::visit(context.id);
    return queries.visiting ? Api::alive(context.id) : EventStatus::no_context;
  }

  static Stream stream_of(const Slot& slot) noexcept { return static_cast<Stream>(slot.handle); }
  static EventStatus query(Slot& slot, Queries& queries) noexcept {
    queries.stream = nullptr;  // a capture may have started since its check
    EventStatus status = poll_once(slot, queries);
    if (status == EventStatus::done) { status = Api::query(slot.event); }
    if (status == EventStatus::done) { slot.finished.store(true, std::memory_order_relaxed); }
    return status;
  }
  static EventStatus query_alone(Slot& slot) noexcept {
    Queries queries;
    return query(slot, queries);
  }
  /// Checks, once per batch and before each query, that querying this event is harmless to its stream.
  static EventStatus poll_once(const Slot& slot, Queries& queries) noexcept {
    if (slot.handle == nullptr || queries.stream == slot.handle) { return EventStatus::done; }
    const EventStatus status = check_stream<Api>(stream_of(slot));
    if (status == EventStatus::done) { queries.stream = slot.handle; }
    return status;
  }

  /// Queries again as a visitor if the calling thread, which collects results of an ended thread, has no context.
  template <class Question>
  EventStatus ask(const Context& context, Queries& queries, Question question) noexcept {
    const EventStatus status = question();
    if (TAKT_LIKELY(status != EventStatus::no_context) || queries.visiting) { return status; }
    if (const EventStatus visited = visit(context, queries); visited != EventStatus::done) { return visited; }
    queries.context = &context;
    return question();
  }

  /// Gets more free events: finished ones, else new ones. The first time as many as one stream may have in flight, so
  /// that none is created during training.
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
  /// Called while results are polled, so that mark() need not grow.
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
  bool skip_unless_done(EventStatus status) noexcept { return status != EventStatus::done && skip(status); }
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
  /// Returns true if queries are paused.
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
