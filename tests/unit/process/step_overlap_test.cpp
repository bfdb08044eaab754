// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "process/step_overlap.hpp"

#include "support/catch.hpp"
#include "support/random.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

using takt::Exposed;
using takt::Kind;
using takt::Overlap;
using takt::detail::overlap_of;
using takt::detail::PlacedSpan;

namespace {

constexpr std::uint32_t kMain = 0;
constexpr std::uint32_t kSide = 1;

constexpr std::int64_t kMilli = 1'000'000;

/// Returns a span; times in ms.
PlacedSpan span(std::uint32_t stream, Kind kind, std::int64_t begin, std::int64_t end) {
  return {stream, kind, false, begin * kMilli, end * kMilli, Exposed::For::nothing};
}
PlacedSpan frame(std::uint32_t stream, std::int64_t begin, std::int64_t end) {
  return {stream, Kind::other, true, begin * kMilli, end * kMilli, Exposed::For::nothing};
}

Overlap of(std::vector<PlacedSpan> spans) { return overlap_of(spans); }

}  // namespace

TEST_CASE("overlap: communication during computation counts as hidden but undecided") {
  const Overlap step = of({span(kMain, Kind::compute, 0, 100), span(kSide, Kind::comm, 30, 60)});
  CHECK(step.compute_ns == 100 * kMilli);
  CHECK(step.comm_ns == 30 * kMilli);
  CHECK(step.undecided == 1);
}

TEST_CASE("overlap: a wait inside computation is not computation, and makes parallel communication decided") {
  const Overlap step =
      of({span(kSide, Kind::comm, 40, 100), span(kMain, Kind::wait, 70, 100), span(kMain, Kind::compute, 0, 100)});
  CHECK(step.compute_ns == 70 * kMilli);
  CHECK(step.comm_ns == 60 * kMilli);
  CHECK(step.undecided == 0);
  CHECK(step.span_ns == 100 * kMilli);
}

TEST_CASE("overlap: adds up reported waits by their purpose, and adds up steps") {
  std::vector<PlacedSpan> spans = {span(kMain, Kind::wait, 0, 10), span(kMain, Kind::wait, 20, 25),
                                   span(kSide, Kind::wait, 20, 30), span(kSide, Kind::wait, 21, 22)};
  spans[0].waits_for = spans[1].waits_for = Exposed::For::comm;
  spans[2].waits_for = Exposed::For::other;  // and contains the last one
  const Overlap step = of(spans);
  CHECK(step.comm_exposed_ns == 15 * kMilli);
  CHECK_FALSE(step.io_exposed_ns);
  CHECK(step.other_exposed_ns == 10 * kMilli);
  Overlap sum;
  takt::detail::add_overlap(sum, step);
  takt::detail::add_overlap(sum, of({span(kMain, Kind::compute, 0, 10)}));
  takt::detail::add_overlap(sum, step);
  CHECK(sum.comm_exposed_ns == 30 * kMilli);
  CHECK_FALSE(sum.io_exposed_ns);
  CHECK(sum.compute_ns == 10 * kMilli);
}

TEST_CASE("overlap: a Batch around everything does not classify the work inside") {
  const Overlap step = of({span(kMain, Kind::compute, 10, 20), span(kMain, Kind::compute, 40, 60), frame(kMain, 10, 80),
                           span(kSide, Kind::comm, 15, 45), span(kSide, Kind::io, 70, 80)});
  CHECK(step.span_ns == 70 * kMilli);
  CHECK(step.compute_ns == 30 * kMilli);
  CHECK(step.comm_ns == 30 * kMilli);
  CHECK(step.io_ns == 10 * kMilli);
  CHECK(step.undecided == 0);
}

TEST_CASE("overlap: a region without a kind takes that of the enclosing region") {
  const Overlap inside =
      of({span(kMain, Kind::other, 20, 80), span(kMain, Kind::compute, 0, 100), span(kSide, Kind::comm, 30, 60)});
  CHECK(inside.compute_ns == 100 * kMilli);
  CHECK(inside.undecided == 1);
  const Overlap alone = of({span(kMain, Kind::other, 0, 100), span(kSide, Kind::comm, 30, 60)});
  CHECK(alone.compute_ns == 0);
  CHECK(alone.undecided == 0);
}

TEST_CASE("overlap: on one stream the innermost region decides") {
  const Overlap step = of({span(kMain, Kind::comm, 40, 70), span(kMain, Kind::compute, 0, 100)});
  CHECK(step.compute_ns == 70 * kMilli);
  CHECK(step.comm_ns == 30 * kMilli);
  CHECK(step.undecided == 0);
  // Both have the same times: the one resolved first is inside.
  const Overlap same = of({span(kMain, Kind::comm, 0, 100), span(kMain, Kind::compute, 0, 100)});
  CHECK(same.comm_ns == 100 * kMilli);
}

TEST_CASE("overlap: computation on two streams is merged") {
  const Overlap step =
      of({span(0, Kind::compute, 0, 50), span(1, Kind::compute, 40, 100), span(2, Kind::comm, 30, 90)});
  CHECK(step.compute_ns == 100 * kMilli);
  CHECK(step.undecided == 1);
}

TEST_CASE("overlap: the union of spans equals a count of every millisecond") {
  takt_test::Random random(takt_test::test_seed());
  constexpr std::int64_t kLength = 60;
  for (int round = 0; round < 500; ++round) {
    std::vector<PlacedSpan> spans;
    bool compute[kLength] = {};
    bool comm[kLength] = {};
    std::int64_t begin = kLength;
    std::int64_t end = 0;
    for (std::uint32_t stream = 0; stream < 4; ++stream) {  // consecutive on each stream
      for (std::int64_t at = static_cast<std::int64_t>(random.below(9)); at < kLength - 10;) {
        const Kind kind = stream < 2 ? Kind::compute : Kind::comm;
        const std::int64_t until = at + 1 + static_cast<std::int64_t>(random.below(9));
        spans.push_back(span(stream, kind, at, until));
        for (std::int64_t ms = at; ms < until; ++ms) { (kind == Kind::comm ? comm : compute)[ms] = true; }
        begin = std::min(begin, at);
        end = std::max(end, until);
        at = until + static_cast<std::int64_t>(random.below(9));
      }
    }
    const Overlap step = overlap_of(spans);
    REQUIRE(step.comm_ns == std::count(comm, comm + kLength, true) * kMilli);
    REQUIRE(step.compute_ns == std::count(compute, compute + kLength, true) * kMilli);
    REQUIRE(step.span_ns == (end - begin) * kMilli);
  }
}
