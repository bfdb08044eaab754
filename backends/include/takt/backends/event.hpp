// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/backend.hpp>
#include <takt/backends/detail/event_api.hpp>
#include <takt/backends/detail/event_device.hpp>
#include <takt/stream.hpp>

#include <cstdint>

TAKT_BEGIN_NAMESPACE

/// The Backend of devices that time by events: a mark is an event recorded on a stream. CudaBackend and HipBackend are made of
/// it. What it needs of a driver is an Api, of static functions that never throw and never wait:
///
///     using Stream = ...; using Event = ...;                    // pointers
///     static constexpr const char* name;
///     const char* unavailable();                                // why nothing can be timed in this process, or nullptr
///     const char* caveat();                                     // what reports add to its figures, or nullptr
///     const char* fault();                                      // what the last EventStatus::lost was
///     bool may_call();                                          // false while a call would overwrite the application's error
///     EventStatus enter(Stream, EventContextId&);               // asks first whether the stream is capturing
///     std::uintptr_t order_of(Stream);                          // the same for marks that finish in order; not 0
///     EventStatus create(const EventContextId&, Event&);        // with timing
///     EventStatus record(Event, Stream);
///     EventStatus enter_capture(Stream, EventContextId&);       // not_capturing where it is not; unsupported: no graphs
///     EventStatus record_in_graph(Event, Stream);               // as a node that records when the graph is replayed
///     EventStatus alive(const EventContextId&);                 // lost where it is gone, and its events with it
///     EventStatus query(Event);
///     EventStatus elapsed(Event, Event, float& ms);             // not_ready where an event has not finished
///     EventStatus wait(Event);                                  // until it has finished
///     std::uint64_t now_ns();                                   // monotonic
///     bool exchange_mode(int& mode);                            // of captures, for this thread; 2 is relaxed
///     bool hushes();                                            // nothing is asked for a while after a capture was seen, and
///                                                               // nothing by a thread of Takt's own
///     bool visit(const EventContextId&);                        // makes it current on a thread that has none, until leave()
///     void leave();
///
/// Events are never destroyed. Nothing here waits for the device unless the program asks for it (SessionOptions::gpu_wait), and
/// a stream that is being captured is left alone. Any thread.
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
  void retain(Mark mark) noexcept { device().retain(mark); }
  Elapsed elapsed(Mark begin, Mark end) noexcept { return device().elapsed(begin, end); }
  Elapsed elapsed(Mark begin, Mark end, Look& look) noexcept { return device().elapsed(begin, end, look); }
  void looked(Look& look) noexcept { device().looked(look); }
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
inline constexpr DeviceOps event_ops{
    Api::name,
    true,
    [](void* stream, Mark& mark) noexcept {
      return EventBackend<Api>(static_cast<typename Api::Stream>(stream)).mark(mark);
    },
    [](void* stream, Mark mark) noexcept { EventBackend<Api>(static_cast<typename Api::Stream>(stream)).retain(mark); },
    [](void* stream, Mark begin, Mark end) noexcept {
      return EventBackend<Api>(static_cast<typename Api::Stream>(stream)).elapsed(begin, end);
    },
    [](void* stream, Mark mark) noexcept {
      EventBackend<Api>(static_cast<typename Api::Stream>(stream)).release(mark);
    },
    &EventBackend<Api>::report,
    [](void* stream, Mark mark) noexcept { EventBackend<Api>(static_cast<typename Api::Stream>(stream)).offer(mark); },
    [](void* stream, Mark mark, DevicePlace& place) noexcept {
      return EventBackend<Api>(static_cast<typename Api::Stream>(stream)).locate(mark, place);
    },
    [](void* stream, Mark begin, Mark end, Look& look) noexcept {
      return EventBackend<Api>(static_cast<typename Api::Stream>(stream)).elapsed(begin, end, look);
    },
    [](void* stream, Look& look) noexcept {
      EventBackend<Api>(static_cast<typename Api::Stream>(stream)).looked(look);
    },
    [](void* stream, Mark& mark) noexcept {
      return EventBackend<Api>(static_cast<typename Api::Stream>(stream)).graph_mark(mark);
    },
    [](void* stream, Mark mark) noexcept {
      return EventBackend<Api>(static_cast<typename Api::Stream>(stream)).wait(mark);
    },
    []() noexcept { return !Api::hushes(); }};

/// A Scope takes a backend, for the stream that it was made for.
template <class Api>
struct StreamTraits<EventBackend<Api>> {
  static StreamRef ref(const EventBackend<Api>& backend) noexcept { return {&event_ops<Api>, backend.stream()}; }
};

TAKT_END_NAMESPACE
