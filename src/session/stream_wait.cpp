// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "session/stream_wait.hpp"

#include <takt/backend.hpp>

#include "process/diversion.hpp"

#include <sched.h>
#include <chrono>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr std::chrono::seconds kStreamTimeout(10);

bool ask_until_reached(StreamRef stream, Mark mark) noexcept {
  const auto end = std::chrono::steady_clock::now() + kStreamTimeout;
  for (;;) {
    const Elapsed::State state = stream.ops->elapsed(stream.handle, mark, mark).state;
    if (state != Elapsed::State::pending) { return state == Elapsed::State::ready; }
    if (std::chrono::steady_clock::now() >= end) { return false; }
    sched_yield();
  }
}

}  // namespace

bool wait_for_mark(StreamRef stream, Mark mark) noexcept {
  const bool waited = stream.ops->wait != nullptr && stream.ops->wait(stream.handle, mark);
  return waited || ask_until_reached(stream, mark);
}

bool wait_for_stream(StreamRef stream) noexcept {
  Mark mark = 0;
  if (!stream.ops->mark(stream.handle, mark)) { return false; }
  const bool reached = wait_for_mark(stream, mark);
  stream.ops->release(stream.handle, mark);
  return reached;
}

bool wait_for_noted_streams(StreamRef done) noexcept {
  bool all = !diversion().has_more_streams();
  for (unsigned index = 0; index < diversion().streams(); ++index) {
    const StreamRef stream = diversion().stream(index);
    all = (stream == done || wait_for_stream(stream)) && all;
  }
  return all;
}

}  // namespace detail
TAKT_END_NAMESPACE
