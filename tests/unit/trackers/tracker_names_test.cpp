// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "trackers/tracker_names.hpp"

#include "support/catch.hpp"

#include <string>

using takt::detail::tracker_name;
using takt::detail::TrackerNames;

namespace {

bool ends_with_hash(const std::string& name) {
  return name.size() >= 9 && name[name.size() - 9] == '_' &&
         name.find_first_not_of("0123456789abcdef", name.size() - 8) == std::string::npos;
}

/// The servers' rule for names, in the ASCII subset.
bool is_valid(const std::string& name) {
  if (name.empty() || name.size() > 250 || name.front() == '/' || name.back() == '/') { return false; }
  const std::string framed = "/" + name + "/";
  for (const char* const bad : {"//", "/./", "/../"}) {
    if (framed.find(bad) != std::string::npos) { return false; }
  }
  return name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-. /") ==
         std::string::npos;
}

}  // namespace

TEST_CASE("Tracker names: keeps valid names") {
  for (const char* const name : {"loss", "ok/slash", "a b", " ", "a-b_c.d", "..a", "time/Epoch/Batch/mean_s"}) {
    CHECK(tracker_name(name, 250) == name);
  }
}

TEST_CASE("Tracker names: changes names that a server refuses and appends a hash") {
  for (const char* const name :
       {"a//b", "/abs", "a/", "..", "../x", "a/../b", "./a", ".", "", "\xF0\x9F\x98\x80", "tab\t", "a\\b", "@",
        "ns::f<int>", "loss\n", "caf\xC3\xA9", "a,b", "100%", "\xFF\xFE"}) {
    const std::string safe = tracker_name(name, 250);
    INFO(name << " -> " << safe);
    CHECK(is_valid(safe));
    CHECK(ends_with_hash(safe));
    CHECK(safe == tracker_name(name, 250));
  }
  CHECK(tracker_name("caf\xC3\xA9", 250).substr(0, 5) == "caf__");
}

TEST_CASE("Tracker names: keeps the start of names that are too long") {
  const std::string safe = tracker_name(std::string(300, 'x'), 250);
  CHECK(safe.size() == 250);
  CHECK(ends_with_hash(safe));
  CHECK(safe != tracker_name(std::string(301, 'x'), 250));
  CHECK(tracker_name(std::string(250, 'x'), 250) == std::string(250, 'x'));
  CHECK(is_valid(tracker_name(std::string(240, 'x') + "/" + std::string(60, 'y'), 250)));
}

TEST_CASE("Tracker names: never merges two names") {
  TrackerNames names;
  const std::string colons = names.of("a::b");
  const std::string commas = names.of("a,,b");
  CHECK(colons != commas);
  CHECK(names.changed() == 2);
  CHECK(names.of("a::b") == colons);
  CHECK(names.changed() == 2);
  // Contains a name that equals the changed form of another.
  TrackerNames rivals;
  const std::string first = rivals.of("a::b");
  const std::string second = rivals.of(first);
  CHECK(second != first);
  CHECK(is_valid(second));
  CHECK(rivals.of("a::b") == first);
}

TEST_CASE("Tracker names: with full UTF-8 only invalid text is changed, and names stay distinct") {
  TrackerNames names;
  names.take_utf8();
  for (const char* const name : {"val/mAP@0.5", "acc (%)", "\xCE\xBB", "ns::f<int>", "a//b"}) {
    CHECK(names.of(name) == name);
  }
  CHECK(names.changed() == 0);
  const std::string broken = names.of("a\xFF");
  CHECK(broken.substr(0, 4) == "a\xEF\xBF\xBD");
  CHECK(names.of("a\xFE") != broken);
  CHECK(names.of(broken) != broken);
  CHECK_FALSE(names.of("").empty());
  CHECK(names.stem(std::string(400, 'x'), 16).size() == 400);
}
