// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/backends/manual.hpp>
#include <takt/session.hpp>
#include <takt/takt.hpp>
#include <takt/trials.hpp>

extern "C" long load(long index);
extern "C" long compute(long value);
extern "C" long* pull();

struct Loader {
  long* first;
  long* last;
  long* begin() const { return first; }
  long* end() const { return last; }
};

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

extern "C" long in_trials(const Loader& loader) {
  takt::Session session("digits");
  long sum = 0;
  for (auto&& batch : takt::trials(session, loader)) { sum += compute(batch); }
  auto trials = takt::trials(session);
  while (long* batch = trials.next([] { return pull(); })) { sum += compute(*batch); }
  return sum;
}
