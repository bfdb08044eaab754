// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "support/catch.hpp"

#include <takt/backends/cpu.hpp>
#include <takt/backends/manual.hpp>
#include <takt/testing/conformance.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace {

struct CpuDriver {
  takt::CpuBackend backend() { return {}; }
  void work() {
    const std::uint64_t begin = backend().host_ns();
    while (backend().host_ns() < begin + 2000) {}
  }
  void finish() {}
  bool can_hold() { return false; }
  void hold(bool) {}
  std::int64_t outstanding() { return -1; }
};

struct ManualDriver {
  takt::ManualBackend backend() { return clock; }
  void work() { clock.advance(std::chrono::microseconds(10)); }
  void finish() { clock.resolve_all(); }
  bool can_hold() { return true; }
  void hold(bool on) { clock.hold(on); }
  std::int64_t outstanding() { return static_cast<std::int64_t>(clock.outstanding()); }

  takt::ManualClock clock;
};

/// A backend with one error that the suite must detect.
struct Faulty {
  static constexpr const char* name = "faulty";
  static constexpr bool immediate = false;
  enum class Fault { negative, forgets_retain, refuses, never_ready, contradicts };

  bool mark(takt::Mark& mark) noexcept { return error != Fault::refuses && inner.mark(mark); }
  void retain(takt::Mark mark) noexcept {
    if (error != Fault::forgets_retain) { inner.retain(mark); }
  }
  takt::Elapsed elapsed(takt::Mark begin, takt::Mark end) noexcept {
    takt::Elapsed elapsed = inner.elapsed(begin, end);
    if (error == Fault::negative) { elapsed.ns = -elapsed.ns; }
    if (error == Fault::never_ready) { elapsed = takt::Elapsed::failed(); }
    return elapsed;
  }
  takt::Elapsed elapsed(takt::Mark begin, takt::Mark end, takt::Queries&) noexcept {
    takt::Elapsed elapsed = this->elapsed(begin, end);
    if (error == Fault::contradicts) { elapsed.ns += 1; }
    return elapsed;
  }
  void end_queries(takt::Queries&) noexcept {}
  void release(takt::Mark mark) noexcept { inner.release(mark); }

  takt::ManualBackend inner;
  Fault error;
};
static_assert(takt::is_backend<Faulty>);

struct FaultyDriver : ManualDriver {
  explicit FaultyDriver(Faulty::Fault which) : error(which) {}
  Faulty backend() { return Faulty{clock, error}; }
  Faulty::Fault error;
};

bool names(const std::vector<std::string>& failures, const std::string& part) {
  return std::any_of(failures.begin(), failures.end(),
                     [&](const std::string& each) { return each.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("the CPU backend conforms") {
  CpuDriver driver;
  CHECK(takt::check_conformance(driver) == std::vector<std::string>{});
}

TEST_CASE("the manual backend conforms and its marks were used correctly") {
  ManualDriver driver;
  CHECK(takt::check_conformance(driver) == std::vector<std::string>{});
  CHECK(driver.clock.outstanding() == 0);
  CHECK(driver.clock.misuses() == 0);
}

TEST_CASE("the conformance suite detects a backend that breaks its contract") {
  FaultyDriver negative(Faulty::Fault::negative);
  CHECK(names(takt::check_conformance(negative), "above 0 ns"));
  FaultyDriver forgets(Faulty::Fault::forgets_retain);
  CHECK(names(takt::check_conformance(forgets), "survives one release"));
  FaultyDriver refuses(Faulty::Fault::refuses);
  CHECK(names(takt::check_conformance(refuses), "succeeds in normal operation"));
  FaultyDriver never(Faulty::Fault::never_ready);
  CHECK(names(takt::check_conformance(never), "ready once the work has finished"));
  FaultyDriver contradicts(Faulty::Fault::contradicts);
  CHECK(takt::check_conformance(contradicts) ==
        std::vector<std::string>(2, "elapsed() returns the same result as part of a query batch"));
}

TEST_CASE("types that are not backends are rejected") {
  struct Nothing {};
  CHECK_FALSE(takt::is_backend<Nothing>);
  CHECK_FALSE(takt::is_backend<int>);
  CHECK(takt::is_backend<takt::CpuBackend>);
}
