// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/backends/detail/event_api.hpp>

#include <takt/detail/macros_begin.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

template <class Api>
auto look_at_stream(typename Api::Stream stream, int) noexcept -> decltype(Api::look_at(stream)) {
  return Api::look_at(stream);
}
template <class Api>
EventStatus look_at_stream(typename Api::Stream, long) noexcept {
  return EventStatus::done;
}

/// Whether events that were recorded last on `stream` may be asked about now: a driver may look at the stream for that.
/// Done, capturing or stream_gone; done where the Api does not say.
template <class Api>
EventStatus look_at_stream(typename Api::Stream stream) noexcept {
  return look_at_stream<Api>(stream, 0);
}

template <class Api>
auto visit_stream(typename Api::Stream stream, int) noexcept -> decltype(Api::visit_stream(stream)) {
  return Api::visit_stream(stream);
}
template <class Api>
bool visit_stream(typename Api::Stream, long) noexcept {
  return false;
}

}  // namespace detail
TAKT_END_NAMESPACE

#include <takt/detail/macros_end.hpp>
