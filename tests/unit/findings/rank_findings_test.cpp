// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "findings/findings.hpp"

#include "support/catch.hpp"
#include "support/mentions.hpp"

#include <string>
#include <vector>

using takt::Cost;
using takt::Finding;
using takt::detail::findings_of_ranks;
using takt::detail::RankFindings;
using takt_test::mentions;

namespace {

Finding finding(const char* what, double ns, const std::string& where = "Epoch/Batch/IO") {
  Finding finding;
  finding.what = what;
  finding.sentence = std::string(what) + " " + std::to_string(static_cast<int>(ns));
  finding.where = where;
  if (ns > 0) { finding.cost = Cost{ns, ns, ns, 0.5}; }
  return finding;
}

/// Returns the same finding on `count` ranks, with a cost that increases by rank.
std::vector<RankFindings> on_first(int count) {
  std::vector<RankFindings> ranks;
  for (int rank = 0; rank < count; ++rank) { ranks.push_back({rank, {finding("input_bound", 100 + rank)}}); }
  return ranks;
}

std::string first_sentence(const std::vector<Finding>& findings) {
  return findings.empty() ? "" : findings.front().sentence;
}

}  // namespace

TEST_CASE("Findings of ranks: a common finding is reported once, from the median rank") {
  std::vector<RankFindings> ranks = on_first(63);
  ranks.push_back({63, {}});
  const std::vector<Finding> joint = findings_of_ranks(ranks, 64);
  REQUIRE(joint.size() == 1);
  CHECK(joint[0].what == "input_bound");
  CHECK(mentions(joint[0].sentence, {"63", "64", "input_bound 131"}));
  CHECK(joint[0].evidence.size() == 2);
  CHECK(joint[0].evidence[0].value == 63);
  CHECK(joint[0].evidence[1].value == 31);
}

TEST_CASE("Findings of ranks: the sentence says whether all, few or one rank has it") {
  CHECK(mentions(first_sentence(findings_of_ranks(on_first(4), 4)), {"all", "4", "input_bound 102"}));
  CHECK(mentions(first_sentence(findings_of_ranks(on_first(3), 8)), {"0, 1 and 2", "input_bound 101"}));
  CHECK(mentions(first_sentence(findings_of_ranks(on_first(1), 8)), {"rank 0", "input_bound 100"}));
  CHECK(findings_of_ranks({}, 8).empty());
  CHECK(findings_of_ranks({{0, {}}, {1, {}}}, 2).empty());
}

TEST_CASE("Findings of ranks: another region makes another finding, and a rank counts once") {
  const std::vector<RankFindings> ranks = {
      {0, {finding("slow_steps", 9), finding("slow_steps", 3), finding("slow_steps", 5, "Epoch/Save")}},
      {1, {finding("slow_steps", 7)}},
  };
  const std::vector<Finding> joint = findings_of_ranks(ranks, 2);
  REQUIRE(joint.size() == 2);
  CHECK(mentions(joint[0].sentence, {"all", "2", "slow_steps 9"}));
  CHECK(mentions(joint[1].sentence, {"rank 0", "slow_steps 5"}));
}

TEST_CASE("Findings of ranks: problems that falsify figures come first") {
  const std::vector<RankFindings> ranks = {{2, {finding("input_bound", 1000), finding("lost", 0, "")}}};
  const std::vector<Finding> joint = findings_of_ranks(ranks, 4);
  REQUIRE(joint.size() == 2);
  CHECK(joint[0].what == "lost");
}
