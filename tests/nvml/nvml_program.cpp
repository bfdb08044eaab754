// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Makes Batches for half a second without pauses.
#include <takt/session.hpp>
#include <takt/takt.hpp>

#include <chrono>

int main() {
  using std::chrono::steady_clock;
  takt::Session session("nvml");
  const auto end = steady_clock::now() + std::chrono::milliseconds(500);
  while (steady_clock::now() < end) {
    const takt::Scope batch(takt::Batch);
    const auto until = steady_clock::now() + std::chrono::milliseconds(5);
    while (steady_clock::now() < until) {}
  }
}
