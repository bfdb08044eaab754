// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "measure/trial_rate.hpp"

#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/mentions.hpp"
#include "support/sentence_numbers.hpp"

#include <string>
#include <vector>

using takt::TrialKind;
using takt::TrialRate;
using takt::TrialResults;
using takt_test::mentions;

namespace {

/// A rate and its uncertainty.
struct TrialFindingReported {
  double per_s;
  double off;
};

TrialRate rate_of(TrialFindingReported reported) {
  TrialRate rate;
  rate.trials = 3;
  rate.per_s = reported.per_s;
  rate.interval = takt::TrialInterval{reported.per_s - reported.off, reported.per_s + reported.off};
  return rate;
}

TrialResults results_of(TrialFindingReported io, TrialFindingReported synthetic, TrialFindingReported full) {
  TrialResults results;
  results.unit = "samples";
  results.of(TrialKind::io) = rate_of(io);
  results.of(TrialKind::synthetic) = rate_of(synthetic);
  results.of(TrialKind::full) = rate_of(full);
  takt::detail::conclude_trials(results);
  return results;
}

std::string sentence_of(const TrialResults& results) { return results.finding ? results.finding->sentence : ""; }

double evidence_of(const TrialResults& results, const std::string& name) {
  for (const takt::Evidence& each : results.finding->evidence) {
    if (each.name == name) { return each.value; }
  }
  return -1;
}

}  // namespace

TEST_CASE("Trials: the five cases of the SC21 tutorial get the right findings and a golden text") {
  // As printed there: IO, SYNTHETIC, FULL, each followed by its spread.
  struct Case {
    const char* name;
    TrialFindingReported io, synthetic, full;
    const char* what;
    std::vector<std::string> facts;
  };
  const std::vector<Case> cases = {
      {"baseline", {89.177, 1.011}, {376.537, 0.604}, {89.971, 0.621}, "input_bound", {"FULL 90.0", "89.2", "376.5"}},
      {"8 loader workers",
       {303.304, 1.468},
       {359.426, 3.380},
       {252.044, 0.253},
       "partial_overlap",
       {"FULL 252", "303", "359"}},
      {"DALI", {779.272, 1.352}, {421.592, 0.008}, {396.084, 0.058}, "compute_bound", {"FULL 396.1", "421.6", "779.3"}},
      {"+ AMP", {786.928, 6.439}, {661.640, 0.025}, {512.194, 0.569}, "partial_overlap", {"FULL 512", "787", "662"}},
      {"+ APEX, JIT",
       {792.513, 37.445},
       {707.966, 0.318},
       {538.593, 0.193},
       "partial_overlap",
       {"FULL 539", "793", "708"}}};
  std::string all;
  for (const Case& each : cases) {
    INFO(each.name);
    const TrialResults results = results_of(each.io, each.synthetic, each.full);
    REQUIRE(results.finding);
    CHECK(results.finding->what == each.what);
    CHECK(mentions(sentence_of(results), each.facts));
    CHECK(takt_test::numbers_without_evidence(*results.finding) == std::string());
    all += sentence_of(results) + "\n";
  }
  // The text without a finding.
  all += results_of({100, 5}, {104, 5}, {99, 1}).unreported + "\n";
  all += results_of({100, 5}, {200, 5}, {89, 4}).unreported + "\n";
  all += results_of({100, 1}, {200, 1}, {130, 1}).unreported + "\n";
  TrialResults nothing;
  takt::detail::conclude_trials(nothing);
  all += nothing.unreported + "\n";
  takt_test::check_golden("trial_findings.txt", all);
}

TEST_CASE("Trials: a finding lists its evidence") {
  const TrialResults results = results_of({100, 1}, {400, 2}, {98, 3});
  REQUIRE(results.finding);
  CHECK(results.finding->what == "input_bound");
  CHECK(results.finding->evidence.front().unit == "samples/s");
  CHECK(evidence_of(results, "io_low") == 99);
  CHECK(evidence_of(results, "synthetic_high") == 402);
  CHECK(evidence_of(results, "full") == 98);
  CHECK(evidence_of(results, "full_of_slower") == Approx(0.98));
  CHECK(evidence_of(results, "data_stall") == Approx(1 - 98.0 / 400));
  CHECK(evidence_of(results, "one_after_the_other") == Approx(80));
  // (1 / 303 + 1 / 359 - 1 / 252) / (1 / 359)
  CHECK(evidence_of(results_of({303, 1}, {359, 1}, {252, 1}), "overlap") == Approx(0.760).margin(0.001));
}

TEST_CASE("Trials: no finding without support by the intervals") {
  const auto why = [](TrialFindingReported io, TrialFindingReported synthetic, TrialFindingReported full) {
    const TrialResults results = results_of(io, synthetic, full);
    CHECK_FALSE(results.finding.has_value());
    return results.unreported;
  };
  CHECK(mentions(why({100, 5}, {104, 5}, {99, 1}), {"IO", "SYNTHETIC", "overlap"}));
  CHECK(mentions(why({100, 5}, {200, 5}, {89, 4}), {"FULL", "0.81", "0.98"}));
  CHECK(mentions(why({100, 1}, {200, 1}, {130, 1}), {"FULL", "faster"}));
  // The overlap is reported whichever of them is slower.
  const takt::Finding some = *results_of({100, 5}, {104, 5}, {60, 1}).finding;
  CHECK(some.what == "partial_overlap");
  CHECK(mentions(some.sentence, {"overlap for", "unknown"}));
  const takt::Finding none = *results_of({100, 0.1}, {200, 0.1}, {66.5, 0.1}).finding;
  CHECK(none.what == "no_overlap");
  CHECK(mentions(none.sentence, {"do not overlap", "IO is the slower one"}));
  CHECK(mentions(results_of({100, 5}, {200, 9}, {66, 1}).finding->sentence, {"overlap for at most"}));
}

TEST_CASE("Trials: if one rate is many times the other, the slower one is the limit despite its uncertainty") {
  CHECK(results_of({24e6, 1e5}, {17'000, 1'000}, {16'000, 2'500}).finding->what == "compute_bound");
  CHECK(results_of({100, 10}, {1'300, 50}, {98, 20}).finding->what == "input_bound");
  CHECK_FALSE(results_of({100, 10}, {800, 50}, {98, 20}).finding.has_value());
  // A clearly lower rate is still reported.
  CHECK(results_of({100, 10}, {1'300, 50}, {60, 5}).finding->what == "no_overlap");
}

TEST_CASE("Trials: a rate without an interval gives no finding") {
  TrialResults results = results_of({100, 1}, {400, 2}, {98, 3});
  results.of(TrialKind::synthetic).interval.reset();
  takt::detail::conclude_trials(results);
  CHECK_FALSE(results.finding.has_value());
  CHECK(mentions(results.unreported, {"IO", "SYNTHETIC", "FULL", "interval"}));
  results = results_of({100, 1}, {400, 2}, {98, 3});
  results.of(TrialKind::io) = TrialRate();
  takt::detail::conclude_trials(results);
  CHECK_FALSE(results.finding.has_value());
  TrialResults nothing;
  takt::detail::conclude_trials(nothing);
  CHECK_FALSE(nothing.finding.has_value());
}

TEST_CASE("Trials: sentences shorten rates of a thousand and more") {
  CHECK(mentions(sentence_of(results_of({1'234'567, 10}, {5'000'000, 10}, {1'234'000, 10})),
                 {"FULL 1.23 M", "(1.23 M)", "5.00 M"}));
  CHECK(mentions(sentence_of(results_of({12, 0}, {20, 0}, {9, 0})), {"FULL 9.0", "12.0", "20.0"}));
}
