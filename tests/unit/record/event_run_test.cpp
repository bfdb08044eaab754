// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "record/event_run.hpp"

#include "support/catch.hpp"

#include <cstdint>
#include <string>
#include <vector>

using namespace takt::detail;

namespace {

constexpr KeyIndex kFirstKey = 11;
constexpr KeyIndex kSecondKey = 12;
constexpr std::uint32_t kPlace = 66;

Event end_of(std::uint32_t id, std::uint64_t ticks) { return (ticks << kCodeBits) + id; }

EventRun run_of(const std::vector<Event>& words) {
  return {words.data(), static_cast<std::uint32_t>(words.size()), kPlace, 1000};
}

/// Records its calls.
struct Scribe : EventVisitor {
  static constexpr bool kTakesLeaves = true;
  bool begin(std::uint64_t place, Event event, std::uint64_t key) {
    return say("begin", place, key, event >> kCodeBits);
  }
  bool end(std::uint64_t place, Event event, std::uint32_t id) { return say("end", place, id, event >> kCodeBits); }
  bool amount(std::uint64_t place, std::uint32_t id, Amount what, std::uint64_t amount) {
    return say(what == Amount::items ? "items" : "bytes", place, id, amount);
  }
  bool skipped(std::uint64_t place, std::uint64_t key) { return say("skipped", place, key, 0); }
  bool leaf(std::uint64_t place, Event begin, Event end, std::uint64_t key) {
    return takes_leaves && key == kFirstKey && say("leaf", place, key, (end >> kCodeBits) - (begin >> kCodeBits));
  }
  bool say(const char* what, std::uint64_t place, std::uint64_t whom, std::uint64_t value) {
    said.push_back(what + (" " + std::to_string(place - kPlace)) + " " + std::to_string(whom) + " " +
                   std::to_string(value));
    return said.size() != max;
  }
  std::vector<std::string> said;
  bool takes_leaves = false;
  std::size_t max = 0;  // 0: unlimited
};

std::vector<std::string> all_of(const std::vector<Event>& words) {
  Scribe scribe;
  REQUIRE(visit_events(run_of(words), scribe) == kPlace + words.size());
  return scribe.said;
}

}  // namespace

TEST_CASE("EventRun: visits each event by kind, with its place and values") {
  const std::vector<Event> words{begin_event(kFirstKey, 5), amount_event(kPlace, Amount::items), 64,
                                 skipped_event(kSecondKey), amount_event(kPlace, Amount::bytes), 4096,
                                 end_of(kPlace, 9)};
  REQUIRE(all_of(words) ==
          std::vector<std::string>{"begin 0 11 5", "items 1 66 64", "skipped 3 12 0", "bytes 4 66 4096", "end 6 66 9"});
}

TEST_CASE("EventRun: an amount is never read as an event") {
  for (const Event amount : {begin_event(kSecondKey, 1), end_of(kPlace, 1), skipped_event(kFirstKey), Event{kPlace}}) {
    REQUIRE(all_of({amount_event(kPlace, Amount::items), amount, end_of(kPlace, 3)}) ==
            std::vector<std::string>{"items 0 66 " + std::to_string(amount), "end 2 66 3"});
  }
}

TEST_CASE("EventRun: skips a truncated amount") {
  REQUIRE(all_of({end_of(2, 1), amount_event(2, Amount::bytes)}) == std::vector<std::string>{"end 0 2 1"});
}

TEST_CASE("EventRun: offers an innermost region as a whole, or as two events if the visitor declines") {
  const std::vector<Event> words{begin_event(kFirstKey, 5), end_of(kPlace, 9), begin_event(kFirstKey, 10),
                                 begin_event(kSecondKey, 11), end_of(kPlace + 3, 12)};
  Scribe scribe;
  scribe.takes_leaves = true;
  REQUIRE(visit_events(run_of(words), scribe) == kPlace + 5);
  REQUIRE(scribe.said == std::vector<std::string>{"leaf 0 11 4", "begin 2 11 10", "begin 3 12 11", "end 4 69 12"});
  REQUIRE(all_of(words).size() == 5);
}

TEST_CASE("EventRun: a visitor can stop at any event") {
  const std::vector<Event> words{begin_event(kFirstKey, 5), amount_event(kPlace, Amount::items), 64, end_of(kPlace, 9)};
  Scribe scribe;
  scribe.max = 2;
  REQUIRE(visit_events(run_of(words), scribe) == kPlace + 1);
  REQUIRE(scribe.said.size() == 2);
}

TEST_CASE("EventRun: parts keep place and position") {
  const std::vector<Event> words{begin_event(kFirstKey, 5), end_of(kPlace, 9), begin_event(kSecondKey, 10)};
  const EventRun run = run_of(words);
  const EventRun before = run.before(kPlace + 2);
  REQUIRE((before.words == run.words && before.count == 2 && before.place == kPlace && before.position == 1000));
  const EventRun from = run.from(kPlace + 2);
  REQUIRE((from.words == run.words + 2 && from.count == 1 && from.place == kPlace + 2 && from.position == 1002));
  REQUIRE(from.end() == run.end());
}

TEST_CASE("EventRun: finds the regions that start and end among its events") {
  const std::vector<Event> words{begin_event(kFirstKey, 5), amount_event(9, Amount::items), 9, end_of(3, 9)};
  const EventRun run = run_of(words);
  REQUIRE(begins_among(run, kPlace));
  REQUIRE(!begins_among(run, kPlace - 1));
  REQUIRE(!begins_among(run, kPlace + 1));
  REQUIRE(!begins_among(run.before(kPlace), kPlace));
  REQUIRE(!begins_among(run, kPlace + 4));
  REQUIRE(ends_among(run, 3));
  REQUIRE(!ends_among(run, 9));
  REQUIRE(!ends_among(run, kPlace));
}
