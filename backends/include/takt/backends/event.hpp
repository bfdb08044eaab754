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

/// The Backend for devices that time with events: a timestamp is an event recorded on a stream. CudaBackend and
/// HipBackend are built on it. The Api wraps a driver in static functions that never throw and never wait:
///
///     using Stream = ...; using Event = ...;                    // pointers
///     static constexpr const char* name;
///     const char* unavailable();                                // reason why timing is impossible, or nullptr
///     const char* caveat();                                     // limits of its figures for reports, or nullptr
///     const char* error_text();                                 // description of the last EventStatus::lost
///     bool may_call();                                          // false while calls change the program's last error
///     EventStatus enter(Stream, EventContextId&);               // first checks if the stream is capturing
///     bool keeps_context(Stream);                               // false: its context depends on the thread
///     EventStatus check_capture(Stream);                        // the check in enter(), alone
///     std::uintptr_t order_of(Stream);                          // equal for timestamps that finish in order; not 0
///     EventStatus create(const EventContextId&, Event&);        // with timing
///     EventStatus record(Event, Stream);
///     EventStatus enter_capture(Stream, EventContextId&);       // not_capturing; unsupported: no graphs
///     EventStatus record_in_graph(Event, Stream);               // as a node that records at each replay
///     EventStatus alive(const EventContextId&);                 // lost if destroyed, with its events;
///                                                               // no_context if only a visit shows it
///     EventStatus query(Event);
///     EventStatus elapsed(Event, Event, float& ms);             // not_ready if an event has not finished
///     EventStatus wait(Event);                                  // until it has finished
///     std::uint64_t now_ns();                                   // monotonic
///     bool exchange_mode(int& mode);                            // capture mode of this thread; 2 is relaxed
///     bool pauses_at_captures();                                // pauses queries after a capture was seen
///     bool visit(const EventContextId&);                        // makes it current on a thread without a context,
///                                                               // until leave()
///     void leave();
///
/// and optionally
///
///     bool visit_stream(Stream);                                // visit() the context of an existing stream
///     void describe(EventContextId&);                           // once, with the context of an existing stream
///     EventStatus check(Stream);                                // before querying an event recorded there, if the
///                                                               // query accesses the stream: capturing, stream_gone
///
/// Events are never destroyed. Only wait() waits for the device. A capturing stream is left alone. Any thread.
template <class Api>
class EventBackend {
 public:
  using Stream = typename Api::Stream;
  static constexpr const char* name = Api::name;
  static constexpr bool immediate = false;
  static constexpr bool in_order = true;

  /// \param stream not owned; must not be destroyed inside a region.
  EventBackend(Stream stream) noexcept : stream_(stream) {}  // NOLINT(google-explicit-constructor)

  bool mark(Mark& mark) noexcept { return device().mark(stream_, mark); }
  bool mark_bounded(Mark& mark, const Mark* begin) noexcept {
    return begin == nullptr ? device().mark_begin(stream_, mark) : device().mark_end(stream_, *begin, mark);
  }
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

/// The DeviceOps of an EventBackend; the handle of a StreamRef is then the stream itself.
template <class Api>
inline constexpr const DeviceOps& event_ops =
    device_ops<EventBackend<Api>, std::remove_pointer_t<typename EventBackend<Api>::Stream>>;

/// Lets a Scope take a backend, as its stream.
template <class Api>
struct StreamTraits<EventBackend<Api>> {
  static StreamRef ref(const EventBackend<Api>& backend) noexcept { return {&event_ops<Api>, backend.stream()}; }
};

TAKT_END_NAMESPACE
