// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "collect/step_overlap.hpp"

#include "support/catch.hpp"
#include "support/random.hpp"

#include <cstdint>
#include <vector>

using takt::Exposed;
using takt::Kind;
using takt::Overlap;
using takt::detail::overlap_of;
using takt::detail::PlacedSpan;
using takt::detail::Surroundings;

namespace {

constexpr std::uint32_t kMain = 0;
constexpr std::uint32_t kSide = 1;

constexpr std::int64_t kMilli = 1'000'000;
/// What a sum of communication or IO that is exposed in `pieces` pieces lacks.
constexpr std::int64_t between(int pieces) { return pieces * takt::detail::kBetweenEventsNs; }

/// In ms. The host was far ahead: all of its work was there as it began.
PlacedSpan span(std::uint32_t stream, Kind kind, std::int64_t begin, std::int64_t end) {
  return {stream, kind, false, begin * kMilli, end * kMilli, Exposed::For::nothing, begin * kMilli};
}
PlacedSpan frame(std::uint32_t stream, std::int64_t begin, std::int64_t end) {
  return {stream, Kind::other, true, begin * kMilli, end * kMilli, Exposed::For::nothing, PlacedSpan::kNever};
}

Overlap of(std::vector<PlacedSpan> spans, Surroundings around = {}) { return overlap_of(spans, around); }

}  // namespace

TEST_CASE("overlap: a communication beside computing that goes on is hidden, as far as anybody can tell") {
  const Overlap step = of({span(kMain, Kind::compute, 0, 100), span(kSide, Kind::comm, 30, 60)});
  CHECK(step.compute_ns == 100 * kMilli);
  CHECK(step.comm_ns == 30 * kMilli);
  CHECK(step.comm_exposed_least_ns == 0);
  CHECK(step.idle_least_ns == 0);
  CHECK(step.undecided == 1);
}

TEST_CASE("overlap: with the wait inside the computing told, a communication there is exposed for so long") {
  const Overlap step =
      of({span(kSide, Kind::comm, 40, 100), span(kMain, Kind::wait, 70, 100), span(kMain, Kind::compute, 0, 100)});
  CHECK(step.compute_ns == 70 * kMilli);
  CHECK(step.comm_ns == 60 * kMilli);
  CHECK(step.comm_exposed_least_ns == 30 * kMilli - between(1));
  CHECK(step.undecided == 0);
  CHECK(step.span_ns == 100 * kMilli);
  CHECK(step.idle_least_ns == 0);  // the communication ran
}

TEST_CASE("overlap: waits that are told of are added up by what they wait for, and steps add up") {
  std::vector<PlacedSpan> spans = {span(kMain, Kind::wait, 0, 10), span(kMain, Kind::wait, 20, 25),
                                   span(kSide, Kind::wait, 20, 30), span(kSide, Kind::wait, 21, 22)};
  spans[0].waits_for = spans[1].waits_for = Exposed::For::comm;
  spans[2].waits_for = Exposed::For::other;  // and the last one lies in it
  const Overlap step = of(spans);
  CHECK(step.comm_exposed_ns == 15 * kMilli);
  CHECK(step.io_exposed_ns == Overlap::kAbsent);
  CHECK(step.other_exposed_ns == 10 * kMilli);
  Overlap sum;
  takt::detail::add_overlap(sum, step);
  takt::detail::add_overlap(sum, of({span(kMain, Kind::compute, 0, 10)}));
  takt::detail::add_overlap(sum, step);
  CHECK(sum.comm_exposed_ns == 30 * kMilli);
  CHECK(sum.io_exposed_ns == Overlap::kAbsent);
}

TEST_CASE("overlap: what sticks out on either side is exposed, and gaps are idle") {
  const Overlap step = of({span(kMain, Kind::compute, 10, 20), span(kMain, Kind::compute, 40, 60), frame(kMain, 10, 80),
                           span(kSide, Kind::comm, 15, 45), span(kSide, Kind::io, 70, 80)});
  CHECK(step.comm_exposed_least_ns == 20 * kMilli - between(1));
  CHECK(step.io_ns == 10 * kMilli);
  CHECK(step.io_exposed_least_ns == 10 * kMilli - between(1));
  CHECK(step.span_ns == 70 * kMilli);
  CHECK(step.idle_least_ns == 10 * kMilli);
  CHECK(step.undecided == 0);
}

TEST_CASE("overlap: a wait alone is no work, and a Batch around all says nothing") {
  std::vector<PlacedSpan> spans = {span(kMain, Kind::compute, 0, 40), span(kMain, Kind::wait, 40, 70)};
  spans.push_back(frame(kMain, 0, 100));
  const Overlap step = of(spans);
  CHECK(step.span_ns == 100 * kMilli);
  CHECK(step.idle_least_ns == 60 * kMilli);
}

TEST_CASE("overlap: a region without a kind is of the one around it, alone, it may be computing") {
  const Overlap inside =
      of({span(kMain, Kind::other, 20, 80), span(kMain, Kind::compute, 0, 100), span(kSide, Kind::comm, 30, 60)});
  CHECK(inside.compute_ns == 100 * kMilli);
  CHECK(inside.comm_exposed_least_ns == 0);
  const Overlap alone = of({span(kMain, Kind::other, 0, 100), span(kSide, Kind::comm, 30, 60)});
  CHECK(alone.compute_ns == 0);
  CHECK(alone.comm_exposed_least_ns == 0);
  CHECK(alone.idle_least_ns == 0);
}

TEST_CASE("overlap: on one stream the innermost region tells what is done") {
  const Overlap step = of({span(kMain, Kind::comm, 40, 70), span(kMain, Kind::compute, 0, 100)});
  CHECK(step.compute_ns == 70 * kMilli);
  CHECK(step.comm_ns == 30 * kMilli);
  CHECK(step.comm_exposed_least_ns == 30 * kMilli - between(1));
  CHECK(step.undecided == 0);
  // The same marks for both: what resolved first lies inside.
  const Overlap same = of({span(kMain, Kind::comm, 0, 100), span(kMain, Kind::compute, 0, 100)});
  CHECK(same.comm_ns == 100 * kMilli);
}

TEST_CASE("overlap: computing on two streams covers together") {
  const Overlap step =
      of({span(0, Kind::compute, 0, 50), span(1, Kind::compute, 40, 100), span(2, Kind::comm, 30, 90)});
  CHECK(step.compute_ns == 100 * kMilli);
  CHECK(step.comm_exposed_least_ns == 0);
  CHECK(step.undecided == 1);
}

TEST_CASE("overlap: while the host may have been late, nothing is certain of what a span holds") {
  // 20 ms of communication, launched 50 ms late: the stream was idle, so that the span began at once.
  PlacedSpan late = span(kSide, Kind::comm, 40, 110);
  const std::vector<PlacedSpan> compute = {span(kMain, Kind::compute, 0, 40), frame(kMain, 0, 120)};
  const auto exposed = [&] {
    std::vector<PlacedSpan> spans = compute;
    spans.push_back(late);
    return of(spans);
  };
  CHECK(exposed().comm_exposed_least_ns == 70 * kMilli - between(1));
  CHECK(exposed().maybe_idle == 0);
  late.queued_ns = 90 * kMilli;
  CHECK(exposed().comm_exposed_least_ns == 20 * kMilli - between(1));
  CHECK(exposed().maybe_idle == 1);
  CHECK(exposed().comm_ns == 70 * kMilli);  // at most
  late.queued_ns = PlacedSpan::kNever;
  CHECK(exposed().comm_exposed_least_ns == 0);
  CHECK(exposed().maybe_idle == 1);
}

TEST_CASE("overlap: behind what is known of a stream that computes, nothing is exposed, and nothing idle") {
  const std::vector<PlacedSpan> spans = {span(kMain, Kind::compute, 0, 50), span(kSide, Kind::comm, 40, 100)};
  CHECK(of(spans).comm_exposed_least_ns == 0);  // the next step may compute beside it
  Surroundings around;
  around.streams[kMain] = {80 * kMilli, true};
  CHECK(of(spans, around).comm_exposed_least_ns == 30 * kMilli - between(1));
  around.others = {span(kMain, Kind::compute, 60, 80)};  // as it does
  CHECK(of(spans, around).comm_exposed_least_ns == 10 * kMilli - between(1));
  around.streams[2] = {45 * kMilli, true};
  CHECK(of(spans, around).comm_exposed_least_ns == 0);
  around.alone_until_ns = 55 * kMilli;  // until then it had not been submitted
  CHECK(of(spans, around).comm_exposed_least_ns == 5 * kMilli - between(1));
  around.known_from_ns = 52 * kMilli;
  CHECK(of(spans, around).comm_exposed_least_ns == 3 * kMilli - between(1));
}

TEST_CASE("overlap: a device is not idle while it is at another step, and nobody knows beyond what has come") {
  const std::vector<PlacedSpan> spans = {span(kMain, Kind::compute, 0, 10), span(kMain, Kind::compute, 80, 100)};
  CHECK(of(spans).idle_least_ns == 70 * kMilli);
  Surroundings around;
  around.others = {span(kSide, Kind::io, -20, 30)};
  around.streams[kSide] = {100 * kMilli, false};
  CHECK(of(spans, around).idle_least_ns == 50 * kMilli);
  around.streams[kSide].known_until_ns = 30 * kMilli;  // it may be at the next one
  CHECK(of(spans, around).idle_least_ns == 0);
  around.alone_until_ns = 40 * kMilli;
  CHECK(of(spans, around).idle_least_ns == 10 * kMilli);
}

TEST_CASE("overlap: without computing that is timed, nothing is said of communication beside it") {
  CHECK(of({span(kSide, Kind::comm, 0, 50), frame(kMain, 0, 60)}).comm_exposed_least_ns == 0);
}

TEST_CASE("overlap: where nothing is late, it agrees with counting every millisecond") {
  takt_test::Random random(takt_test::test_seed());
  constexpr std::int64_t kLength = 60;
  for (int round = 0; round < 500; ++round) {
    std::vector<PlacedSpan> spans;
    Surroundings around;
    around.alone_until_ns = kLength * kMilli;
    bool compute[kLength] = {};
    bool comm[kLength] = {};
    int communications = 0;
    std::int64_t begin = kLength;
    std::int64_t end = 0;
    for (std::uint32_t stream = 0; stream < 4; ++stream) {  // one after the other on each
      for (std::int64_t at = static_cast<std::int64_t>(random.below(9)); at < kLength - 10;) {
        const Kind kind = stream < 2 ? Kind::compute : Kind::comm;
        const std::int64_t until = at + 1 + static_cast<std::int64_t>(random.below(9));
        spans.push_back(span(stream, kind, at, until));
        communications += kind == Kind::comm ? 1 : 0;
        for (std::int64_t ms = at; ms < until; ++ms) { (kind == Kind::comm ? comm : compute)[ms] = true; }
        begin = std::min(begin, at);
        end = std::max(end, until);
        at = until + static_cast<std::int64_t>(random.below(9));
      }
    }
    std::int64_t exposed = 0;
    std::int64_t idle = 0;
    for (std::int64_t ms = begin; ms < end; ++ms) {
      exposed += comm[ms] && !compute[ms] ? 1 : 0;
      idle += !comm[ms] && !compute[ms] ? 1 : 0;
    }
    const Overlap step = overlap_of(spans, around);
    REQUIRE(step.comm_exposed_least_ns <= exposed * kMilli);
    REQUIRE(step.comm_exposed_least_ns >= exposed * kMilli - between(communications));
    REQUIRE(step.idle_least_ns == idle * kMilli);
    REQUIRE(step.span_ns == (end - begin) * kMilli);
  }
}
