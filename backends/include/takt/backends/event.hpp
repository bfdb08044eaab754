// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/backend.hpp>
#include <takt/backends/detail/event_api.hpp>
#include <takt/backends/detail/event_device.hpp>
#include <takt/stream.hpp>

#include <cstdint>
#include <type_traits>

TAKT_BEGIN_NAMESPACE

/// The Backend of devices that time by events: a mark is an event recorded on a stream. CudaBackend and HipBackend are
/// made of it. What it needs of a driver is an Api, of static functions that never throw and never wait:
///
///     using Stream = ...; using Event = ...;                    // pointers
///     static constexpr const char* name;
///     const char* unavailable();                                // why nothing can be timed here, or nullptr
///     const char* caveat();                                     // what reports add to its figures, or nullptr
///     const char* error_text();                                      // what the last EventStatus::lost was
///     bool may_call();                                          // not while that would change the program's error
///     EventStatus enter(Stream, EventContextId&);               // asks first whether the stream is capturing
///     std::uintptr_t order_of(Stream);                          // the same for marks that finish in order; not 0
///     EventStatus create(const EventContextId&, Event&);        // with timing
///     EventStatus record(Event, Stream);
///     EventStatus enter_capture(Stream, EventContextId&);       // not_capturing; unsupported: no graphs
///     EventStatus record_in_graph(Event, Stream);               // as a node that records when the graph is replayed
///     EventStatus alive(const EventContextId&);                 // lost where it is gone, and its events with it;
///                                                               // no_context where only a visit can tell
///     EventStatus query(Event);
///     EventStatus elapsed(Event, Event, float& ms);             // not_ready where an event has not finished
///     EventStatus wait(Event);                                  // until it has finished
///     std::uint64_t now_ns();                                   // monotonic
///     bool exchange_mode(int& mode);                            // of captures, for this thread; 2 is relaxed
///     bool pauses_at_captures();                                // nothing is asked for a while after a capture was
///                                                               // seen
///     bool visit(const EventContextId&);                        // current on a thread that has none, until leave()
///     void leave();
///
/// and may have
///
///     bool visit_stream(Stream);                                // visit() of the context of a stream, which is there
///     void describe(EventContextId&);                           // once, of the context of a stream that is there
///     EventStatus check(Stream);                              // before a question about an event that was recorded
///                                                               // there, where that question touches the stream:
///                                                               // capturing, or stream_gone
///
/// Events are never destroyed. Nothing here but wait() waits for the device. A stream that is being captured is left
/// alone. Any thread.
template <class Api>
class EventBackend {
 public:
  using Stream = typename Api::Stream;
  static constexpr const char* name = Api::name;
  static constexpr bool immediate = false;
  static constexpr bool in_order = true;

  /// \param stream not owned; must not be destroyed inside a region.
  EventBackend(Stream stream) noexcept : stream_(stream) {}  // NOLINT(google-explicit-constructor)

  bool mark(Mark& mark) noexcept { return device().mark(stream_, mark, false); }
  bool mark_bounded(Mark& mark, bool begins) noexcept { return device().mark(stream_, mark, begins); }
  void retain(Mark mark) noexcept { device().retain(mark); }
  Elapsed elapsed(Mark begin, Mark end) noexcept { return device().elapsed(begin, end); }
  Elapsed elapsed(Mark begin, Mark end, Queries& queries) noexcept { return device().elapsed(begin, end, queries); }
  void end_queries(Queries& queries) noexcept { device().end_queries(queries); }
  bool graph_mark(Mark& mark) noexcept { return device().graph_mark(stream_, mark); }
  bool wait(Mark mark) noexcept { return device().wait(stream_, mark); }
  void release(Mark mark) noexcept { device().release(mark); }
  static DeviceReport report() noexcept { return device().report(); }
  void offer(Mark mark) noexcept { device().offer(mark); }
  bool locate(Mark mark, DevicePlace& place) noexcept { return device().locate(mark, place); }
  Stream stream() const noexcept { return stream_; }

 private:
  static detail::EventDevice<Api>& device() noexcept { return detail::EventDevice<Api>::instance(); }

  Stream stream_;
};

/// The DeviceOps of an EventBackend; a StreamRef's handle is then the stream itself.
template <class Api>
inline constexpr const DeviceOps& event_ops =
    device_ops<EventBackend<Api>, std::remove_pointer_t<typename EventBackend<Api>::Stream>>;

/// A Scope takes a backend, for the stream that it was made for.
template <class Api>
struct StreamTraits<EventBackend<Api>> {
  static StreamRef ref(const EventBackend<Api>& backend) noexcept { return {&event_ops<Api>, backend.stream()}; }
};

TAKT_END_NAMESPACE
