// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Two ways to time less at run time. set_enabled(false) stops all recording until it is switched on again; a region
// then costs a test and a branch. every(n) times one in n of a very short region and counts the others; the report
// shows both. To remove all regions from the program, see 09_compiled_out.cpp.
#include <takt/takt.hpp>

#include <cstdint>
#include <cstdio>
#include <string>

inline constexpr takt::Key Token{"Token", takt::Kind::compute};

static double work(double value) {
  for (int i = 1; i <= 100; ++i) { value = 0.5 * value + 1.0 / i; }
  return value;
}

int main() {
  double value = 0;
  // [snippet: switch-off]
  for (int step = 0; step < 100; ++step) {
    takt::set_enabled(step % 10 == 0);  // records every tenth step
    takt::Scope s(takt::Forward);
    value = work(value);
  }
  takt::set_enabled(true);
  // [end]
  // [snippet: every]
  for (int token = 0; token < 6400; ++token) {
    takt::Scope s(Token, takt::every(64));
    value = work(value);
  }
  // [end]

  std::uint64_t forward = 0;
  std::uint64_t timed = 0;
  std::uint64_t skipped = 0;
  const takt::Snapshot snapshot = takt::snapshot();
  for (const takt::PathStats& path : snapshot.paths) {
    if (path.name == "Forward") { forward = path.host.n(); }
    if (path.name == "Token") {
      timed = path.host.n();
      skipped = path.skipped;
    }
  }
  std::printf("Forward: %llu of 100 steps recorded\nToken: %llu timed, %llu only counted (value %.3f)\n",
              static_cast<unsigned long long>(forward), static_cast<unsigned long long>(timed),
              static_cast<unsigned long long>(skipped), value);
  return forward == 10 && timed == 100 && skipped == 6300 ? 0 : 1;
}
