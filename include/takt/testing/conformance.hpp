// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/backend.hpp>
#include <takt/stream.hpp>
#include <takt/timer.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE

/// Tests a Backend, in or out of the tree, without a test framework. Returns its violations, one line each; an empty
/// list means that it conforms. The suite needs a driver that knows the backend:
///
///     struct Driver {
///       MyBackend backend();              // the backend under test; copies share one clock
///       void work();                      // lets more time than the clock's resolution pass between two timestamps
///       void finish();                    // resolves every timestamp so far
///       bool can_hold();                  // true if hold() works; false for an immediate backend
///       void hold(bool on);               // keeps results pending from now on, as a busy device does
///       std::int64_t outstanding();       // timestamps not yet released; -1 if unknown
///     };
///
/// Takes well under a second if work() does. Call it on a thread that may block.
template <class Driver>
class Conformance {
 public:
  using Backend = decltype(std::declval<Driver&>().backend());
  static_assert(is_backend<Backend>, "takt: Driver::backend() does not return a Backend; see takt/backend.hpp");

  explicit Conformance(Driver& driver) noexcept : driver_(driver) {}

  std::vector<std::string> run() {
    check_length();
    check_order();
    check_sharing();
    check_pending();
    check_queries();
    check_host_clock();
    check_threads();
    check_timer();
    require(driver_.outstanding() <= 0, "a mark is freed after one release for mark() and one for each retain()");
    return failures_;
  }

 private:
  void require(bool good, const char* what) {
    if (!good) { failures_.push_back(what); }
  }

  bool mark(Backend& backend, Mark& mark) {
    const bool taken = backend.mark(mark);
    require(taken, "mark() succeeds in normal operation");
    return taken;
  }

  /// Returns the result of two timestamps after everything has finished.
  Elapsed result(Backend& backend, Mark begin, Mark end) {
    driver_.finish();
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    Elapsed elapsed = backend.elapsed(begin, end);
    while (elapsed.state == Elapsed::State::pending && std::chrono::steady_clock::now() < until) {
      std::this_thread::yield();
      elapsed = backend.elapsed(begin, end);
    }
    return elapsed;
  }

  void check_length() {
    Backend backend = driver_.backend();
    Mark begin = 0;
    Mark end = 0;
    if (!mark(backend, begin)) { return; }
    driver_.work();
    if (!mark(backend, end)) { return; }
    const Elapsed worked = result(backend, begin, end);
    require(worked.state == Elapsed::State::ready, "elapsed() is ready once the work has finished");
    require(worked.ns > 0, "elapsed() is above 0 ns if there was work between the marks");
    const Elapsed again = backend.elapsed(begin, end);
    require(again.state == Elapsed::State::ready && again.ns == worked.ns,
            "elapsed() returns the same result when called again");
    const Elapsed nothing = backend.elapsed(begin, begin);
    require(nothing.state != Elapsed::State::ready || nothing.ns == 0, "elapsed() of a mark and itself is 0 ns");
    backend.release(begin);
    backend.release(end);
  }

  void check_order() {
    Backend backend = driver_.backend();
    Mark marks[3] = {};
    for (Mark& each : marks) {
      if (!mark(backend, each)) { return; }
      driver_.work();
    }
    const Elapsed whole = result(backend, marks[0], marks[2]);
    const Elapsed first = backend.elapsed(marks[0], marks[1]);
    const Elapsed second = backend.elapsed(marks[1], marks[2]);
    require(whole.ns >= first.ns && whole.ns >= second.ns, "a span is not shorter than one inside it");
    // Devices round times: three rounding steps of up to a microsecond.
    require(whole.ns - first.ns - second.ns <= 3000 && first.ns + second.ns - whole.ns <= 3000,
            "two adjacent spans add up to the whole");
    for (const Mark each : marks) { backend.release(each); }
  }

  void check_sharing() {
    Backend backend = driver_.backend();
    Mark marks[3] = {};
    for (Mark& each : marks) {
      if (!mark(backend, each)) { return; }
    }
    backend.retain(marks[1]);
    result(backend, marks[0], marks[1]);
    backend.release(marks[0]);
    backend.release(marks[1]);
    const Elapsed second = result(backend, marks[1], marks[2]);
    require(second.state == Elapsed::State::ready, "a mark that was retained survives one release");
    backend.release(marks[1]);
    backend.release(marks[2]);
  }

  void check_pending() {
    if (Backend::immediate || !driver_.can_hold()) { return; }
    Backend backend = driver_.backend();
    Mark begin = 0;
    Mark end = 0;
    driver_.hold(true);
    if (!mark(backend, begin)) { return; }
    driver_.work();
    if (!mark(backend, end)) { return; }
    require(backend.elapsed(begin, end).state == Elapsed::State::pending,
            "elapsed() is pending, and returns, while work is unfinished");
    driver_.hold(false);
    require(result(backend, begin, end).state == Elapsed::State::ready, "a pending result becomes ready");
    backend.release(begin);
    backend.release(end);
  }

  void check_queries() {
    if constexpr (BackendTraits<Backend>::has_queries) {
      Backend backend = driver_.backend();
      Mark begin = 0;
      Mark end = 0;
      if (!mark(backend, begin)) { return; }
      driver_.work();
      if (!mark(backend, end)) { return; }
      const Elapsed alone = result(backend, begin, end);
      Queries queries;
      for (int time = 0; time < 2; ++time) {
        const Elapsed each = backend.elapsed(begin, end, queries);
        require(each.state == alone.state && each.ns == alone.ns,
                "elapsed() returns the same result as part of a query batch");
      }
      backend.end_queries(queries);
      backend.release(begin);
      backend.release(end);
    }
  }

  void check_host_clock() {
    if constexpr (BackendTraits<Backend>::has_host_ns) {
      Backend backend = driver_.backend();
      std::uint64_t last = backend.host_ns();
      bool forward = true;
      for (int i = 0; i < 1000; ++i) {
        const std::uint64_t now = backend.host_ns();
        forward = forward && now >= last;
        last = now;
      }
      driver_.work();
      require(forward && backend.host_ns() >= last, "host_ns() never goes back");
    }
  }

  void check_threads() {
    bool good[4] = {};
    std::thread threads[4];
    for (int index = 0; index < 4; ++index) {
      threads[index] = std::thread([this, &good, index] {
        Backend backend = driver_.backend();
        bool all = true;
        for (int i = 0; i < 100; ++i) {
          Mark begin = 0;
          Mark end = 0;
          all = backend.mark(begin) && backend.mark(end) && all;
          all = backend.elapsed(begin, end).state != Elapsed::State::failed && all;
          backend.release(begin);
          backend.release(end);
        }
        good[index] = all;
      });
    }
    for (std::thread& thread : threads) { thread.join(); }
    require(good[0] && good[1] && good[2] && good[3], "several threads may use it at once");
  }

  void check_timer() {
    static constexpr Key kOuter{"conformance outer"};
    static constexpr Key kInner{"conformance inner"};
    {
      Timer<Backend> timer(driver_.backend());
      for (int i = 0; i < 3; ++i) {
        timer.start(kOuter);
        timer.lap(kInner);
        driver_.work();
        timer.lap(kInner);
        driver_.work();
        timer.end(kInner);
        timer.end(kOuter);
      }
      driver_.finish();
      require(timer.complete(std::chrono::seconds(2)), "a Timer gets all results");
      const Stats outer = timer.stats(kOuter);
      const Stats inner = timer.stats(kInner);
      require(outer.n == 3 && inner.n == 6, "a Timer gets every region");
      require(outer.total_ns + 6000 >= inner.total_ns, "regions of a Timer lie inside the one around them");
      require(timer.mistakes() == 0, "a Timer drops no data");
    }
  }

  Driver& driver_;
  std::vector<std::string> failures_;
};

/// Returns the contract violations of `driver`'s backend, one line each.
template <class Driver>
std::vector<std::string> check_conformance(Driver& driver) {
  return Conformance<Driver>(driver).run();
}

TAKT_END_NAMESPACE
