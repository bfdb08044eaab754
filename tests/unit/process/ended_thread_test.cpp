// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/backends/event.hpp>
#include <takt/session.hpp>
#include <takt/takt.hpp>

#include "support/catch.hpp"
#include "support/fake_driver.hpp"
#include "support/session_helpers.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

using takt_test::FakeApi;
using takt_test::FakeDriver;
using takt_test::FakeStream;
using Call = FakeDriver::Call;

namespace {

struct EndedTag {};
using EndedApi = FakeApi<EndedTag>;
using EndedBackend = takt::EventBackend<EndedApi>;
constexpr takt::Key LeftBehind{"left behind", takt::Kind::compute};

}  // namespace

TEST_CASE("EventBackend: a host-only Batch on any thread collects the spans of an ended thread") {
  FakeDriver& driver = EndedApi::driver();
  driver.hold(true);
  FakeStream* const stream = driver.stream();
  std::thread([&] {
    for (int region = 0; region < 3; ++region) {
      const takt::Scope s(LeftBehind, EndedBackend(stream));
      driver.work(stream, std::chrono::nanoseconds(5));
    }
  }).join();
  const auto left_behind = [] {
    const takt::Snapshot snapshot = takt::snapshot();
    return snapshot.paths.at(takt_test::find_path(snapshot, LeftBehind.name()));
  };
  { const takt::Scope batch(takt::Batch); }
  CHECK(left_behind().device_pending == 3);  // the device has not finished
  driver.finish();
  const std::uint64_t asked = driver.calls(Call::query);
  { const takt::Scope s(takt::Forward); }  // only a Batch collects
  CHECK(driver.calls(Call::query) == asked);
  CHECK(driver.calls(Call::elapsed) == 0);
  { const takt::Scope batch(takt::Batch); }
  CHECK(driver.calls(Call::elapsed) == 3);
  const auto& events = takt::detail::EventDevice<EndedApi>::instance();
  CHECK(events.events() == events.free_events());
  CHECK(left_behind().device_pending == 0);
  CHECK(left_behind().device.n() == 3);
  CHECK(left_behind().device.total_ns() == 15);
  // No spans are left to query.
  const std::uint64_t done = driver.calls(Call::query);
  { const takt::Scope batch(takt::Batch); }
  CHECK(driver.calls(Call::query) == done);
  CHECK(driver.misuses() == std::vector<std::string>{});
}
