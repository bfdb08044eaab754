// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/backends/detail/event_api.hpp>

#include "hip_runtime.hpp"

#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What EventBackend needs of HIP. A context is a device here. No call is made while the application has an error to
/// read, and what a failing call leaves behind is taken back at once: the last error is the application's alone.
struct HipApi {
  using Stream = ihipStream_t*;
  using Event = ihipEvent_t*;
  static constexpr const char* name = "hip";

  static const char* unavailable() noexcept { return HipRuntime::get().availability.reason(); }
  static const char* caveat() noexcept;
  static const char* fault() noexcept;
  static bool may_call() noexcept { return !HipRuntime::get().has_pending_error(); }
  static std::uintptr_t order_of(Stream stream) noexcept;
  static EventStatus enter(Stream stream, EventContextId& id) noexcept;
  static EventStatus create(const EventContextId& id, Event& event) noexcept;
  static EventStatus record(Event event, Stream stream) noexcept;
  // An event in a graph has no times in HIP: asked for one, ROCm fails (ROCm/rocm-systems issue 2380).
  static EventStatus enter_capture(Stream, EventContextId&) noexcept { return EventStatus::unsupported; }
  static EventStatus record_in_graph(Event, Stream) noexcept { return EventStatus::unsupported; }
  static EventStatus alive(const EventContextId&) noexcept { return EventStatus::done; }  // there is no telling
  static EventStatus look_at(Stream stream) noexcept;
  static EventStatus query(Event event) noexcept;
  static EventStatus elapsed(Event begin, Event end, float& ms) noexcept;
  static EventStatus wait(Event event) noexcept;
  static std::uint64_t now_ns() noexcept;
  static bool exchange_mode(int& mode) noexcept;
  static bool pauses_at_captures() noexcept { return true; }  // look_at() does not tell of captures of other streams
  static bool visit(const EventContextId&) noexcept { return false; }
  static void leave() noexcept {}
};

}  // namespace detail
TAKT_END_NAMESPACE
