// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/backend.hpp>
#include <takt/backends/manual.hpp>
#include <takt/takt.hpp>

#include "support/catch.hpp"

#include <chrono>

namespace {

/// Queries received by the device.
struct Asked {
  takt::ManualClock clock;
  int alone = 0;
  int in_series = 0;
  int series = 0;
  int waits = 0;
  int graph_marks = 0;
  int bounded_marks = 0;
};

/// A backend with all optional functions.
class Whole {
 public:
  static constexpr const char* name = "whole";
  static constexpr bool immediate = false;
  static constexpr bool in_order = true;

  Whole(Asked* asked) noexcept : asked_(asked) {}  // NOLINT(google-explicit-constructor)
  bool mark(takt::Mark& mark) noexcept { return inner().mark(mark); }
  void retain(takt::Mark mark) noexcept { inner().retain(mark); }
  takt::Elapsed elapsed(takt::Mark begin, takt::Mark end) noexcept {
    ++asked_->alone;
    return inner().elapsed(begin, end);
  }
  takt::Elapsed elapsed(takt::Mark begin, takt::Mark end, takt::Queries& queries) noexcept {
    ++asked_->in_series;
    asked_->series += queries.started ? 0 : 1;
    queries.started = true;
    return inner().elapsed(begin, end);
  }
  void end_queries(takt::Queries& queries) noexcept { queries = takt::Queries(); }
  void release(takt::Mark mark) noexcept { inner().release(mark); }
  static takt::DeviceReport report() noexcept { return {}; }
  void offer(takt::Mark) noexcept {}
  bool locate(takt::Mark mark, takt::DevicePlace& place) noexcept { return inner().locate(mark, place); }
  bool graph_mark(takt::Mark& mark) noexcept {
    ++asked_->graph_marks;
    return inner().mark(mark);
  }
  bool wait(takt::Mark) noexcept {
    ++asked_->waits;
    asked_->clock.resolve_all();
    return true;
  }
  bool mark_bounded(takt::Mark& mark, const takt::Mark* begin) noexcept {
    asked_->bounded_marks += begin == nullptr ? 1 : 2;
    return inner().mark(mark);
  }
  Asked* asked() const noexcept { return asked_; }

 private:
  takt::ManualBackend inner() const noexcept { return asked_->clock; }

  Asked* asked_;
};
static_assert(takt::is_backend<Whole>);

}  // namespace

template <>
struct takt::StreamTraits<Whole> {
  static takt::StreamRef ref(const Whole& whole) noexcept { return {&takt::device_ops<Whole, Asked>, whole.asked()}; }
};

namespace {

TEST_CASE("device_ops: the table contains exactly the functions that a Backend has") {
  const takt::DeviceOps& whole = takt::device_ops<Whole, Asked>;
  REQUIRE(whole.ask != nullptr);
  REQUIRE(whole.end_queries != nullptr);
  REQUIRE(whole.report != nullptr);
  REQUIRE(whole.offer != nullptr);
  REQUIRE(whole.locate != nullptr);
  REQUIRE(whole.graph_mark != nullptr);
  REQUIRE(whole.wait != nullptr);
  CHECK(whole.in_order);
  Asked asked;
  takt::Mark mark = 0;
  REQUIRE(whole.graph_mark(&asked, mark));
  CHECK(whole.wait(&asked, mark));
  REQUIRE(whole.mark_bounded != nullptr);
  REQUIRE((whole.mark_bounded(&asked, mark, nullptr) && asked.bounded_marks == 1));
  const takt::Mark start = mark;
  REQUIRE((whole.mark_bounded(&asked, mark, &start) && asked.bounded_marks == 3));
  CHECK((asked.graph_marks == 1 && asked.waits == 1));

  const takt::DeviceOps& min = takt::device_ops<takt::ManualBackend, takt::ManualClock>;
  CHECK(min.ask == nullptr);
  CHECK(min.end_queries == nullptr);
  CHECK(min.report == nullptr);
  CHECK(min.graph_mark == nullptr);
  CHECK(min.wait == nullptr);
  CHECK(min.mark_bounded == nullptr);
}

TEST_CASE("device_ops: Scope and Timer query a Backend in batches") {
  constexpr int kRegions = 8;
  Asked of_scopes;
  Asked of_timer;
  of_scopes.clock.hold(true);
  of_timer.clock.hold(true);
  takt::Timer<Whole> timer(&of_timer);
  for (int region = 0; region < kRegions; ++region) {
    { const takt::Scope scope(takt::Forward, Whole(&of_scopes)); }
    timer.start(takt::Forward);
    timer.end(takt::Forward);
  }
  of_scopes.clock.resolve_all();
  of_timer.clock.resolve_all();
  of_scopes.in_series = of_scopes.series = of_timer.in_series = of_timer.series = 0;
  REQUIRE(takt::complete(std::chrono::seconds(10)));
  REQUIRE(timer.complete(std::chrono::seconds(10)));
  for (const Asked* each : {&of_scopes, &of_timer}) {
    CHECK(each->alone == 0);
    CHECK(each->in_series == kRegions);
    CHECK(each->series == 1);
    CHECK(each->clock.outstanding() == 0);
  }
}

}  // namespace
