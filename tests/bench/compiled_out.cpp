// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#define TAKT_ENABLED 0
#include "driver.hpp"

#include <takt/takt.hpp>

namespace takt_bench {

void add_compiled_out(Rounds& rounds) {
  rounds.add({"scope: compiled out", 600'000, [](std::uint64_t n) {
                return timed(n, [n] {
                  for (std::uint64_t i = 0; i < n; ++i) {
                    takt::Scope s(takt::Forward);
                    barrier();
                  }
                });
              }});
  rounds.add({"floor: empty loop", 600'000, [](std::uint64_t n) {
                return timed(n, [n] {
                  for (std::uint64_t i = 0; i < n; ++i) { barrier(); }
                });
              }});
}

}  // namespace takt_bench
