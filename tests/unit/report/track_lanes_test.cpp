// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "report/trace.hpp"

#include "support/catch.hpp"
#include "support/random.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

using takt::detail::TrackLanes;

namespace {

struct Placed {
  std::int64_t begin_ns;
  std::int64_t end_ns;
};

struct Rig {
  TrackLanes lanes;
  std::map<std::uint32_t, std::vector<Placed>> placed;

  std::uint32_t place(std::int64_t begin_ns, std::int64_t end_ns) {
    const std::uint32_t lane = lanes.place(begin_ns, end_ns);
    placed[lane].push_back({begin_ns, end_ns});
    return lane;
  }
  /// Returns the pairs on one lane that are neither nested nor disjoint.
  std::size_t crossings() const {
    std::size_t count = 0;
    for (const auto& [lane, spans] : placed) {
      for (const Placed& a : spans) {
        count += static_cast<std::size_t>(std::count_if(spans.begin(), spans.end(), [&a](const Placed& b) {
          return a.begin_ns < b.begin_ns && b.begin_ns < a.end_ns && a.end_ns < b.end_ns;
        }));
      }
    }
    return count;
  }
};

}  // namespace

TEST_CASE("TrackLanes: nested spans share a lane, even with equal ends or zero length") {
  Rig rig;
  for (std::int64_t batch = 0; batch < 1000; batch += 100) {
    CHECK(rig.place(batch + 10, batch + 20) == 0);
    CHECK(rig.place(batch + 50, batch + 90) == 0);
    CHECK(rig.place(batch + 50, batch + 50) == 0);
    CHECK(rig.place(batch + 20, batch + 90) == 0);
    CHECK(rig.place(batch, batch + 90) == 0);
    CHECK(rig.place(batch + 90, batch + 100) == 0);
  }
  CHECK(rig.place(0, 1000) == 0);
  CHECK(rig.place(0, 1000) == 0);
  CHECK(rig.crossings() == 0);
}

TEST_CASE("TrackLanes: a late span uses free space") {
  Rig rig;
  CHECK(rig.place(0, 10) == 0);
  CHECK(rig.place(30, 40) == 0);
  CHECK(rig.place(12, 28) == 0);
  CHECK(rig.place(13, 15) == 1);  // inside a span whose contents are no longer known
  CHECK(rig.place(5, 50) == 1);
  CHECK(rig.place(45, 60) == 0);
  CHECK(rig.place(47, 61) == 2);
  CHECK(rig.crossings() == 0);
}

TEST_CASE("TrackLanes: spans in any order never cross on their lane") {
  takt_test::Random random(20);
  for (int round = 0; round < 50; ++round) {
    Rig rig;
    std::vector<Placed> spans;
    const std::uint64_t longest = 1 + random.below(60);
    for (int count = 0; count < 300; ++count) {
      const auto begin = static_cast<std::int64_t>(random.below(1000));
      spans.push_back({begin, begin + static_cast<std::int64_t>(random.below(longest))});
    }
    if (round % 2 == 0) {
      std::sort(spans.begin(), spans.end(), [](const Placed& a, const Placed& b) {
        return a.end_ns != b.end_ns ? a.end_ns < b.end_ns : a.begin_ns > b.begin_ns;
      });
    }
    for (const Placed& span : spans) { rig.place(span.begin_ns, span.end_ns); }
    REQUIRE(rig.crossings() == 0);
    REQUIRE(rig.placed.count(TrackLanes::kNone) == 0);
  }
}

TEST_CASE("TrackLanes: an Epoch encloses its steps on their lane for any number of steps") {
  TrackLanes lanes;
  REQUIRE(lanes.place(0, 100) == 0);
  REQUIRE(lanes.place(-10, 110) == 0);  // a previous Epoch
  constexpr std::int64_t kSteps = 10 * static_cast<std::int64_t>(TrackLanes::kMax);
  for (std::int64_t step = 0; step < kSteps; ++step) { REQUIRE(lanes.place(200 + 10 * step, 208 + 10 * step) == 0); }
  REQUIRE(lanes.place(200 + 5 * kSteps, 209 + 10 * kSteps) == 1);  // overlaps spans no longer known individually
  REQUIRE(lanes.place(150, 210 + 10 * kSteps) == 0);
  REQUIRE(lanes.place(-20, 220 + 10 * kSteps) == 0);
}

TEST_CASE("TrackLanes: the number of lanes is limited") {
  TrackLanes lanes;
  for (std::uint32_t lane = 0; lane < TrackLanes::kMaxLanes; ++lane) {
    REQUIRE(lanes.place(lane, std::int64_t{10'000} + lane) == lane);
  }
  REQUIRE(lanes.place(9'000, 20'000) == TrackLanes::kNone);
  REQUIRE(lanes.place(15'000, 20'000) == 0);
}
