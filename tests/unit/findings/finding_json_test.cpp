// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/snapshot.hpp>

#include "findings/findings.hpp"
#include "support/catch.hpp"

#include <nlohmann/json.hpp>

#include <limits>

using takt::Finding;
using takt::detail::finding_json;

TEST_CASE("Finding: its JSON contains sentence, evidence and cost") {
  Finding finding;
  finding.what = "slow_rank";
  finding.sentence = "rank 2 (\"n1\") makes the others wait";
  finding.evidence = {{"mean_excess", 0.25, ""}, {"steps", 60, "steps"}};
  finding.where = "Epoch/Batch/IO";
  finding.cost = takt::Cost{1.5e9, 1.25e9, 1.75e9, 0.5};
  const auto json = nlohmann::json::parse(finding_json(finding).text());
  CHECK(json == nlohmann::json{{"what", "slow_rank"},
                               {"sentence", "rank 2 (\"n1\") makes the others wait"},
                               {"evidence",
                                {{{"name", "mean_excess"}, {"value", 0.25}, {"unit", nullptr}},
                                 {{"name", "steps"}, {"value", 60.0}, {"unit", "steps"}}}},
                               {"cost", {{"ns", 1.5e9}, {"low_ns", 1.25e9}, {"high_ns", 1.75e9}, {"share", 0.5}}},
                               {"where", "Epoch/Batch/IO"}});
}

TEST_CASE("Finding: its JSON writes null for an unknown cost and for values that are not finite") {
  Finding finding;
  finding.what = "alike";
  finding.evidence = {{"odd", std::numeric_limits<double>::infinity(), "ns"}};
  const auto json = nlohmann::json::parse(finding_json(finding).text());
  CHECK(json.at("cost").is_null());
  CHECK(json.at("where").is_null());
  CHECK(json.at("evidence").at(0).at("value").is_null());
  CHECK(json.at("evidence").size() == 1);
  Finding bare;
  CHECK(nlohmann::json::parse(finding_json(bare).text()).at("evidence").empty());
}
