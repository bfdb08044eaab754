// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Regions of takt.h on a stream, and while a measurement excludes recordings.
#include <takt/backends/manual.hpp>
#include <takt/measure.hpp>
#include <takt/takt.hpp>

#include <takt.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

// The ABI of takt.h must not change.
static_assert(sizeof(takt_region) == 16 && offsetof(takt_region, start) == 8, "takt_region");
static_assert(TAKT_OK == 0 && TAKT_MISUSE == 1 && TAKT_INCOMPLETE == 2 && TAKT_NO_MEMORY == 3, "results");
static_assert(TAKT_ANY == -1 && TAKT_COMPUTE == 0 && TAKT_COMM == 1 && TAKT_IO == 2 && TAKT_WAIT == 3 &&
                  TAKT_OTHER == 4,
              "kinds");

namespace {

int failures = 0;

void expect(std::uint64_t found, std::uint64_t expected, const char* what) {
  if (found == expected) { return; }
  std::printf("%s: %llu instead of %llu\n", what, static_cast<unsigned long long>(found),
              static_cast<unsigned long long>(expected));
  ++failures;
}

/// Returns the figures of a path; none recorded: empty.
takt::PathStats path(const std::string& name) {
  const takt::Snapshot snapshot = takt::snapshot();
  for (std::uint32_t at = 0; at < snapshot.paths.size(); ++at) {
    if (snapshot.path_name(at) == name) { return snapshot.paths[at]; }
  }
  return {};
}

takt_region begin_on(const takt_key* key, takt::ManualClock& device) {
  const takt::StreamRef stream = takt::ManualBackend(device).stream();
  return takt_begin_stream_(key, stream.ops, stream.handle);
}

void streams() {
  takt::ManualClock device;
  const takt_key* const forward = takt_get_key("Forward", TAKT_ANY);
  takt_region region = begin_on(forward, device);
  device.advance(std::chrono::nanoseconds(100));
  expect(takt_lap(&region, takt_get_key("Backward", TAKT_ANY)) == TAKT_OK, 1, "lap");
  device.advance(std::chrono::nanoseconds(200));
  expect(takt_end(&region) == TAKT_OK, 1, "end");
  takt::complete(std::chrono::seconds(10));
  expect(path("Forward").device.total_ns(), 100, "Forward on the device");
  expect(path("Backward").device.total_ns(), 200, "Backward on the device");  // a lap keeps the stream
}

void measured(const takt::Session& session) {
  const takt_key* const key = takt_get_key("inside", TAKT_COMPUTE);
  takt_region copy = {0, 0};
  takt::measure(session, "function", [&] {
    TAKT_REGION(key) {}
    takt_region region = takt_begin(key);
    copy = region;
    expect(takt_items(&region, 3) == TAKT_OK, 1, "items");
    expect(takt_lap(&region, key) == TAKT_OK, 1, "lap while excluded");
    expect(takt_end(&region) == TAKT_OK, 1, "end while excluded");
    expect(takt_end(&region) == TAKT_MISUSE, 1, "second end");
  });
  expect(path("inside").host.n(), 0, "excluded regions");
  expect(takt_end(&copy) == TAKT_OK, 1, "end after the measurement");
}

}  // namespace

int main() {
  takt::SessionOptions options;
  options.files = false;
  options.table = false;
  options.background = false;
  takt::Session session("regions", options);
  streams();
  expect(takt_metric("loss", 1) == TAKT_OK, 1, "a metric of a run that C++ opened");
  expect(takt_close() == TAKT_MISUSE, 1, "close a run that C++ opened");
  takt::set_error_handler([](const char*, void*) {});
  measured(session);
  return failures;
}
