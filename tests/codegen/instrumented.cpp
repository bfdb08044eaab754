// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/backends/manual.hpp>
#include <takt/session.hpp>
#include <takt/takt.hpp>

extern "C" long load(long index);
extern "C" long compute(long value);

inline constexpr takt::Key Mine{"Mine", takt::Kind::compute};

extern "C" long step(long index) {
  takt::Scope batch(takt::Batch);
  batch.items(64);
  long value = 0;
  {
    takt::Scope scope(takt::IO);
    value = load(index);
    scope.bytes(value);
  }
  {
    TAKT_SCOPE(Mine);
    value = compute(value);
  }
  return value;
}

extern "C" long phases(long value) {
  takt::Scope scope(takt::Forward, takt::every(4));
  value = compute(value);
  scope.lap(takt::Backward);
  value = compute(value);
  takt::record(takt::IO, std::chrono::nanoseconds(value));
  return value;
}

extern "C" long on_stream(long value, const takt::ManualBackend& stream) {
  takt::Scope scope(takt::Forward, stream);
  return compute(value);
}

extern "C" long train(long steps) {
  takt::Session session("digits");
  session.param("lr", 0.01);
  takt::Timer<takt::CpuBackend> timer;
  long sum = 0;
  for (long index = 0; index < steps; ++index) {
    timer.start(takt::Comm);
    sum += load(index);
    timer.end(takt::Comm);
    session.metric("loss", static_cast<double>(sum));
  }
  return sum;
}
