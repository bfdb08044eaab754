// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/backends/detail/event_api.hpp>

#include "cuda_driver.hpp"

#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What EventBackend needs of CUDA.
struct CudaApi {
  using Stream = CUstream_st*;
  using Event = CUevent_st*;
  static constexpr const char* name = "cuda";

  static const char* unavailable() noexcept { return CudaDriver::get().availability.reason(); }
  static const char* caveat() noexcept;
  static const char* fault() noexcept;
  static bool may_call() noexcept { return true; }  // the driver keeps no last error
  static std::uintptr_t order_of(Stream stream) noexcept;
  static EventStatus enter(Stream stream, EventContextId& id) noexcept;
  static EventStatus create(const EventContextId& id, Event& event) noexcept;
  static EventStatus record(Event event, Stream stream) noexcept;
  static EventStatus enter_capture(Stream stream, EventContextId& id) noexcept;
  static EventStatus record_in_graph(Event event, Stream stream) noexcept;
  static EventStatus alive(const EventContextId& id) noexcept;
  static EventStatus query(Event event) noexcept;
  static EventStatus elapsed(Event begin, Event end, float& ms) noexcept;
  static EventStatus wait(Event event) noexcept;
  static std::uint64_t now_ns() noexcept;
  static bool exchange_mode(int& mode) noexcept { return CudaDriver::get().exchange_capture_mode(&mode) == 0; }
  static bool pauses_at_captures() noexcept { return false; }  // the relaxed mode is enough
  static bool visit(const EventContextId& id) noexcept;
  static bool visit_stream(Stream stream) noexcept;
  static void describe(EventContextId& id) noexcept;
  static void leave() noexcept;
};

}  // namespace detail
TAKT_END_NAMESPACE
