// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "findings/findings.hpp"

#include "support/catch.hpp"
#include "support/run_builder.hpp"

#include <string>
#include <vector>

using takt::Finding;
using takt::Kind;
using takt::detail::Conclusions;
using takt::detail::conclusions_of;
using namespace takt_test;

namespace {

std::string sentences_of(const Conclusions& said) {
  std::string all;
  for (const Finding& each : said.findings) { all += each.what + ": " + each.sentence + "\n"; }
  return all;
}

/// A run of 2 000 steps of about 100 ms.
struct Training : RunBuilder {
  explicit Training(const StepNoise& noise = {}) : source(noise, 20260301) {}

  /// \param io_ms of the 100.
  void steps(int count, double io_ms = 5) {
    for (int at = 0; at < count; ++at) { one_step(io_ms); }
  }
  takt::Row& one_step(double io_ms = 5, double save_ms = 0) {
    const double factor = source.next();
    return step({{io, io_ms * factor}, {forward, 30 * factor}, {backward, (70 - io_ms) * factor}, {save, save_ms}});
  }
  Conclusions said() { return conclusions_of(finish()); }

  NoiseSource source;
  std::uint32_t io = region("IO", Kind::io);
  std::uint32_t forward = region("Forward");
  std::uint32_t backward = region("Backward");
  std::uint32_t save = region("Checkpoint", Kind::io);
};

}  // namespace

TEST_CASE("Findings: IO that nothing overlaps") {
  Training run;
  run.steps(2000, 41);
  const Conclusions said = run.said();
  REQUIRE(sentences_of(said) ==
          "input_bound: input-bound: IO is 41 % of a step, and nothing overlaps it; without it a step takes 59.1 ms "
          "instead of 100 ms\n");
}

TEST_CASE("Findings: steps that are slow at equal distances") {
  Training run;
  for (int step = 0; step < 2000; ++step) { run.one_step(5, step % 100 == 99 ? 700 : 0); }
  REQUIRE(sentences_of(run.said()) ==
          "slow_steps: every 100th step takes 8.0 × the median (Checkpoint): 6.5 % of the run\n");
}

TEST_CASE("Findings: silence where nothing is wrong") {
  Training run;
  run.steps(2000);
  REQUIRE(sentences_of(run.said()).empty());
}
