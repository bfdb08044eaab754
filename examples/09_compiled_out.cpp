// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// With TAKT_ENABLED 0, before the first include or on the compiler's command line, Takt compiles to nothing: no clock,
// no branch, no file, no thread. Other files of the program may still have it on. Use this for a build that must not
// contain measurement; at run time, set_enabled(false) is cheap enough.
// [snippet: compiled-out]
#define TAKT_ENABLED 0
#include <takt/takt.hpp>
// [end]

#include <cstdio>
#include <numeric>
#include <type_traits>
#include <vector>

static_assert(std::is_empty_v<takt::Scope>, "a Scope that is compiled out holds nothing");

int main() {
  takt::Session session("nothing");
  session.param("lr", 0.1);
  std::vector<double> values(1000);
  double sum = 0;
  for (int step = 0; step < 10; ++step) {
    takt::Scope batch(takt::Batch);
    {
      TAKT_SCOPE(takt::IO);
      std::iota(values.begin(), values.end(), step);
    }
    {
      takt::Scope s(takt::Forward);
      sum += std::accumulate(values.begin(), values.end(), 0.0);
    }
    batch.items(1000);
    session.metric("sum", sum);
  }
  const takt::Snapshot snapshot = takt::snapshot();
  std::printf("sum %.0f, %zu regions recorded\n", sum, snapshot.paths.size());
  return snapshot.paths.empty() && sum == 5'040'000 ? 0 : 1;
}
