// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/listener.hpp>

#include <takt/backends/manual.hpp>
#include <takt/takt.hpp>

#include "support/catch.hpp"
#include "support/held.hpp"
#include "support/session_helpers.hpp"

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

using takt::Key;
using takt::Listener;
using takt::Scope;
using takt_test::Held;

namespace {

/// Records its calls.
struct Reported {
  std::mutex mutex;
  std::string text;

  Listener listener() {
    return {[](const Key& key, void* its) noexcept { static_cast<Reported*>(its)->add("+", key); },
            [](const Key& key, void* its) noexcept { static_cast<Reported*>(its)->add("-", key); }, this};
  }
  std::string take() {
    const std::lock_guard<std::mutex> lock(mutex);
    return std::exchange(text, std::string());
  }

 private:
  void add(const char* what, const Key& key) {
    const std::lock_guard<std::mutex> lock(mutex);
    text += what;
    text += key.name();
    text += ' ';
  }
};

/// Registers a listener for its lifetime.
struct Listening {
  explicit Listening(Reported& to) : reported(to) { REQUIRE(takt::add_listener(reported.listener())); }
  ~Listening() { takt::remove_listener(reported.listener()); }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;
  Reported& reported;
};

Reported& reported() {
  static Reported reported;
  reported.take();
  return reported;
}

inline constexpr Key Outer{"Outer"};
inline constexpr Key Inner{"Inner"};

}  // namespace

TEST_CASE("Listener: receives starts and ends as they happen") {
  Reported& its = reported();
  { const Scope before(Outer); }
  {
    const Listening listening(its);
    {
      const Scope outer(Outer);
      REQUIRE(its.take() == "+Outer ");
      {
        const Scope inner(Inner);
        const Scope batch(takt::Batch);
      }
      REQUIRE(its.take() == "+Inner +Batch -Batch -Inner ");
    }
    REQUIRE(its.take() == "-Outer ");
  }
  { const Scope after(Outer); }
  REQUIRE(its.take().empty());
  REQUIRE(takt_test::calls_of(takt::snapshot(), "Outer") == 3);
}

TEST_CASE("Listener: receives ends only of regions whose start it received") {
  Reported& its = reported();
  Held early(Outer);
  auto listening = std::make_unique<Listening>(its);
  early.end();
  REQUIRE(its.take().empty());
  Held late(Inner);
  listening.reset();
  REQUIRE(its.take() == "+Inner ");
  { const Scope unseen(Outer); }
  late.end();
  REQUIRE(its.take() == "-Inner ");
}

TEST_CASE("Listener: is called on the thread that ends a region") {
  Reported& its = reported();
  const Listening listening(its);
  Held scope(Outer);
  REQUIRE(its.take() == "+Outer ");
  std::thread([&] { scope.end(); }).join();
  REQUIRE(its.take() == "-Outer ");
}

TEST_CASE("Listener: a lap ends one region and starts the next, with its clock and its stream") {
  Reported& its = reported();
  takt::ManualClock device;
  const Listening listening(its);
  {
    Scope scope(Outer, takt::ManualBackend(device));
    scope.lap(Inner);
    REQUIRE(its.take() == "+Outer -Outer +Inner ");
    device.advance(std::chrono::nanoseconds(55));
    scope.lap(Outer);
    REQUIRE(its.take() == "-Inner +Outer ");
  }
  REQUIRE(its.take() == "-Outer ");
  REQUIRE(takt::complete(std::chrono::seconds(5)));
  const takt::Snapshot snapshot = takt::snapshot();
  REQUIRE(snapshot.paths[takt_test::find_path(snapshot, "Inner")].device.total_ns() == 55);
  REQUIRE(device.outstanding() == 0);
}

TEST_CASE("Listener: receives the regions of a joined Timer") {
  Reported& its = reported();
  const Listening listening(its);
  auto timer = takt::Timer<takt::CpuBackend>::joined();
  timer.start(Outer);
  timer.lap(Inner);
  timer.end(Inner);
  timer.end(Outer);
  REQUIRE(its.take() == "+Outer +Inner -Inner -Outer ");
}

TEST_CASE("Listener: does not receive regions that are not timed") {
  Reported& its = reported();
  const Listening listening(its);
  for (int round = 0; round < 4; ++round) { const Scope sampled(Outer, takt::every(3)); }
  REQUIRE(its.take() == "+Outer -Outer +Outer -Outer ");
  takt::set_enabled(false);
  { const Scope off(Outer); }
  takt::set_enabled(true);
  REQUIRE(its.take().empty());
}

TEST_CASE("Listener: every start has an end, even for regions too deep to be timed") {
  Reported& its = reported();
  const Listening listening(its);
  std::vector<Held> scopes;
  for (int level = 0; level < 150; ++level) { scopes.emplace_back(Outer); }
  while (!scopes.empty()) { scopes.pop_back(); }
  const std::string text = its.take();
  std::size_t begins = 0;
  std::size_t ends = 0;
  for (const char c : text) {
    begins += c == '+' ? 1 : 0;
    ends += c == '-' ? 1 : 0;
  }
  REQUIRE(begins == 150);
  REQUIRE(ends == 150);
}

TEST_CASE("Listener: several are called in order, in reverse for ends, and a process can have eight") {
  Reported& first = reported();
  static Reported second;
  const Listening one(first);
  {
    const Listening two(second);
    const Scope scope(Outer);
    REQUIRE(first.take() == "+Outer ");
    REQUIRE(second.take() == "+Outer ");
  }
  REQUIRE(first.take() == "-Outer ");
  REQUIRE(second.take() == "-Outer ");
  for (int round = 0; round < 20; ++round) { const Listening again(second); }  // takes no further place
  static Reported others[10];
  int added = 0;
  while (added < 10 && takt::add_listener(others[added].listener())) { ++added; }
  REQUIRE(added == 6);
  for (Reported& other : others) { takt::remove_listener(other.listener()); }
  { const Scope scope(Outer); }
  REQUIRE(second.take().empty());
  REQUIRE(first.take() == "+Outer -Outer ");
}
