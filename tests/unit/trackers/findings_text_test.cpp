// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "trackers/tracker_names.hpp"

#include "support/catch.hpp"
#include "support/mentions.hpp"

#include <string>

using takt::detail::findings_text;

TEST_CASE("Findings text: one sentence per line, the costliest first, and the number of others") {
  takt::Snapshot snapshot;
  CHECK(findings_text(snapshot).empty());
  std::string expected;
  for (int number = 1; number <= 8; ++number) {
    snapshot.findings.push_back({"slow", "finding " + std::to_string(number), {}, {}});
    expected += (number == 1 ? "" : "\n") + snapshot.findings.back().sentence;
  }
  CHECK(findings_text(snapshot) == expected);
  snapshot.findings.resize(10);
  const std::string text = findings_text(snapshot);
  CHECK(text.substr(0, expected.size() + 1) == expected + "\n");
  CHECK(takt_test::mentions(text.substr(expected.size() + 1), {"2", "takt/summary.json"}));
}
