// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/error.hpp>
#include <takt/exporters/json.hpp>
#include <takt/session.hpp>

#include "journal/journal_reader.hpp"
#include "support/catch.hpp"
#include "support/scratch.hpp"
#include "support/session_helpers.hpp"

#include <string>
#include <utility>
#include <vector>

using Catch::Matchers::Contains;
using takt::Session;
using takt::Snapshot;
using takt_test::by_hand;
using takt_test::contains;

namespace {

using Groups = std::vector<std::pair<std::string, int>>;

}  // namespace

TEST_CASE("Session: group() is in snapshots by name, and the last call for a name wins") {
  Session session("groups", by_hand());
  CHECK(session.snapshot().run.groups.empty());
  session.group("tensor", 3);
  session.group("stage", 1);
  session.group("stage", 2);
  CHECK(session.snapshot().run.groups == Groups{{"stage", 2}, {"tensor", 3}});
  CHECK(contains(takt::format_json(session.snapshot()), "\"groups\":{\"stage\":2,\"tensor\":3}"));
}

TEST_CASE("Session: group() refuses invalid names and numbers, names the valid ones, and changes nothing") {
  Session session("groups", by_hand());
  session.group("stage", 0);
  const std::string cure = "1 to 32 letters";
  CHECK_THROWS_WITH(session.group("", 1), Contains(cure));
  CHECK_THROWS_WITH(session.group("stage 2", 1), Contains("\"stage 2\"") && Contains(cure));
  CHECK_THROWS_WITH(session.group("a,b", 1), Contains(cure));
  CHECK_THROWS_WITH(session.group("\x1b[2J", 1), Contains("\"?[2J\"") && Contains(cure));
  CHECK_THROWS_WITH(session.group("st\xC3\xA4ge", 1), Contains(cure));
  CHECK_THROWS_WITH(session.group(std::string(33, 'x'), 1), Contains(cure));
  CHECK_THROWS_WITH(session.group("stage", -1), Contains("start at 0"));
  CHECK_NOTHROW(session.group(std::string(32, 'x'), 2'147'483'647));
  CHECK(session.snapshot().run.groups == Groups{{"stage", 0}, {std::string(32, 'x'), 2'147'483'647}});
}

TEST_CASE("Session: a rank is in at most eight groups and may change these") {
  Session session("groups", by_hand());
  for (int number = 0; number < 8; ++number) { session.group("g" + std::to_string(number), number); }
  CHECK_THROWS_WITH(session.group("g8", 8), Contains("8 groups"));
  CHECK_NOTHROW(session.group("g7", 0));
  CHECK(session.snapshot().run.groups.size() == 8);
  CHECK(session.snapshot().run.groups.back() == std::pair<std::string, int>("g7", 0));
}

TEST_CASE("Session: groups set late are in the journal") {
  const takt_test::Scratch scratch;
  takt::SessionOptions options = by_hand();
  options.files = true;
  options.directory = scratch.path("runs");
  Session session("groups", options);
  session.group("stage", 1);
  session.poll();
  session.group("stage", 2);
  session.group("tensor", 0);
  const std::string directory = session.run().directory;
  REQUIRE(session.close());
  takt::detail::JournalReader reader(directory);
  Snapshot read;
  REQUIRE(reader.finish(read));
  CHECK(read.run.groups == Groups{{"stage", 2}, {"tensor", 0}});
}
