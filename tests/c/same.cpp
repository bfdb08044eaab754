// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// The run that same.c and same.f90 report, too; c_test.py compares them.
#include <takt/takt.hpp>

#include <chrono>

namespace {
constexpr takt::Key kAttention("attention", takt::Kind::compute);
constexpr takt::Key kLoss("loss copy", takt::Kind::wait);
}  // namespace

int main() {
  takt::SessionOptions options = takt::SessionOptions::from_env();
  options.warmup = 1;
  takt::Session session("same", options);
  session.param("layers", 3);
  session.param("rate", 0.1);
  session.param("optimizer", "sgd");
  session.unit("tokens");
  session.tag("data", "none");
  session.group("stage", 2);
  takt::name_thread("trainer");
  for (int number = 0; number < 2; ++number) {
    takt::Scope epoch(takt::Epoch);
    session.step(100 * number);
    for (int step = 0; step < 3; ++step) {
      takt::Scope batch(takt::Batch);
      {
        takt::Scope io(takt::IO);
        io.bytes(4096);
      }
      {
        takt::Scope forward(takt::Forward);
        takt::Scope attention(kAttention);
      }
      {
        takt::Scope phase(takt::Backward);
        phase.lap(takt::Optimizer);
      }
      { takt::Scope loss(kLoss, takt::every(2)); }
      takt::record(takt::Comm, std::chrono::nanoseconds(1000));
      batch.items(32);
      session.metric("loss", 1.0 / (step + 1));
    }
    takt::set_enabled(false);
    { takt::Scope validation(takt::Validation); }
    takt::set_enabled(true);
  }
  session.metric("accuracy", 0.5, 7);
  return session.close() ? 0 : 1;
}
