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
///     EventStatus query(Event);
///     EventStatus elapsed(Event, Event, float& ms);             // not_ready where an event has not finished
///     std::uint64_t now_ns();                                   // monotonic
///     struct Relaxed;                                           // while one lives, queries do no harm to captures
///
/// Events are never destroyed. Nothing here waits for the device, and a stream that is being captured is left alone. Any thread.
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
  void release(Mark mark) noexcept { device().release(mark); }
  static DeviceReport report() noexcept { return device().report(); }
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
    &EventBackend<Api>::report};

template <class Api>
struct StreamTraits<EventBackend<Api>> {
  static StreamRef ref(const EventBackend<Api>& backend) noexcept { return {&event_ops<Api>, backend.stream()}; }
};

TAKT_END_NAMESPACE
