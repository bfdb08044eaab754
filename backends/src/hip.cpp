// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/backends/event.hpp>
#include <takt/backends/hip.hpp>

#include "hip_api.hpp"

TAKT_BEGIN_NAMESPACE
namespace {

using Events = EventBackend<detail::HipApi>;

}  // namespace

bool HipBackend::mark(Mark& mark) noexcept { return Events(stream_).mark(mark); }
void HipBackend::retain(Mark mark) noexcept { Events(stream_).retain(mark); }
Elapsed HipBackend::elapsed(Mark begin, Mark end) noexcept { return Events(stream_).elapsed(begin, end); }
Elapsed HipBackend::elapsed(Mark begin, Mark end, Questions& questions) noexcept {
  return Events(stream_).elapsed(begin, end, questions);
}
void HipBackend::end_questions(Questions& questions) noexcept { Events(stream_).end_questions(questions); }
void HipBackend::release(Mark mark) noexcept { Events(stream_).release(mark); }
DeviceReport HipBackend::report() noexcept { return Events::report(); }
StreamRef HipBackend::ref() const noexcept { return {&event_ops<detail::HipApi>, stream_}; }

TAKT_END_NAMESPACE
