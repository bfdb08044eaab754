// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/backends/cpu.hpp>
#include <takt/backends/manual.hpp>
#include <takt/summary.hpp>
#include <takt/timer.hpp>

#include <chrono>

int main() {
  takt::Timer<takt::CpuBackend> cpu;
  cpu.start(takt::Forward);
  cpu.end(takt::Forward);

  takt::ManualClock clock;
  takt::Timer<takt::ManualBackend> manual{takt::ManualBackend(clock)};
  manual.start(takt::Comm);
  clock.advance(std::chrono::nanoseconds(5));
  manual.end(takt::Comm);

  takt::Summary sum = cpu.summary(takt::Forward);
  sum.merge(manual.summary(takt::Comm));
  return sum.n() == 2 && manual.stats(takt::Comm).total_ns == 5 ? 0 : 1;
}
