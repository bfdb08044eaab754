// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// The first program in README.md.
// [snippet: train]
#include <takt/takt.hpp>
int main() {
  takt::Session session("first");
  for (double loss = 1; loss > 0.001;) {
    takt::Scope batch(takt::Batch), phase(takt::Forward);    // a step, and its first phase
    for (int i = 0; i < 100'000; ++i) { loss *= 1 - 1e-7; }  // in place of a network
    phase.lap(takt::Backward);
    for (int i = 0; i < 200'000; ++i) { loss *= 1 - 5e-8; }
    batch.items(32);
  }
}
// [end]
