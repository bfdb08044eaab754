// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/exporter.hpp>
#include <takt/snapshot.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <vector>

TAKT_BEGIN_NAMESPACE

/// Tests an Exporter, in or out of the tree, without a test framework. Calls it as a Session does and returns its
/// violations, one line each; an empty list means that it conforms. The suite needs a driver that knows the exporter:
///
///     struct Driver {
///       std::unique_ptr<takt::Exporter> exporter();  // a new one, with an empty destination of its own
///       bool can_tell();                    // true if steps() works; false if no rows are kept
///       std::vector<std::int64_t> steps();  // the steps of the rows that have arrived, in order
///       bool can_fail();                    // true if fail() works
///       void fail(bool on);                 // makes the destination fail: the disk is full, the server is down
///     };
///
/// Only the newest exporter is queried, even after its destruction. Takes a few seconds at most if the destination is
/// fast. Call it on a thread that may block; the exporter is used on others, one at a time.
template <class Driver>
class ExporterConformance {
 public:
  explicit ExporterConformance(Driver& driver) noexcept : driver_(driver) {}

  std::vector<std::string> run() {
    check_name();
    check_rows();
    check_little();
    check_twice();
    check_names();
    check_outage();
    check_run_of_outage();
    return failures_;
  }

 private:
  using Milliseconds = std::chrono::milliseconds;
  using Steps = std::vector<std::int64_t>;

  // Time limit of fast calls: a machine may be busy.
  static constexpr Milliseconds kSoon{1'000};
  static constexpr Milliseconds kTimeout{10'000};
  static constexpr Milliseconds kLittle{50};
  static constexpr int kRows = 7;  // rows per period

  /// A run as a Session shows it: data answered with `retry` appear again, with newer data.
  struct Run {
    explicit Run(const std::string& name = "Forward") {
      snapshot.run.name = "conformance";
      snapshot.run.id = "conformance-1";
      snapshot.run.host = "localhost";
      snapshot.run.start_unix_ns = 1'700'000'000'000'000'000;
      snapshot.threads.push_back({0, "main", false});
      snapshot.paths.resize(2);
      snapshot.paths[0].name = "Batch";
      snapshot.paths[1].name = name;
      snapshot.paths[1].parent = 0;
      snapshot.paths[1].depth = 1;
      snapshot.series.resize(1);
    }
    /// Adds one period: rows, one metric each, and their totals.
    void go_on(const std::string& metric) {
      for (int each = 0; each < kRows; ++each, ++next) {
        Row row;
        row.sequence = next;
        row.step = static_cast<std::int64_t>(next);
        row.begin_ns = row.step * 1'000'000;
        row.host_ns = 900'000;
        row.period_ns = next == 0 ? std::nullopt : std::optional<std::int64_t>(1'000'000);
        row.cells.push_back({0, 1, 900'000, Cell::kAbsent});
        row.cells.push_back({1, 1, 500'000, Cell::kAbsent});
        snapshot.paths[0].host.add(900'000);
        snapshot.paths[1].host.add(500'000);
        snapshot.rows.push_back(row);
        const std::int64_t time = snapshot.run.start_unix_ns + row.begin_ns;
        snapshot.metrics.push_back({next, metric, 0.5, row.step, time});
      }
      snapshot.series[0].steps = next;
      snapshot.wall_ns = static_cast<std::int64_t>(next) * 1'000'000;
    }
    void answered(ExportResult result) {
      if (result == ExportResult::retry) { return; }
      for (const Row& row : snapshot.rows) {
        if (result == ExportResult::ok) { taken.push_back(row.step); }
      }
      snapshot.rows.clear();
      snapshot.metrics.clear();
    }

    Snapshot snapshot;
    std::uint64_t next = 0;
    Steps taken;  // steps for which the exporter returned `ok`
  };

  void require(bool good, const char* what) {
    const bool is_new = std::find(failures_.begin(), failures_.end(), what) == failures_.end();
    if (!good && is_new) { failures_.push_back(what); }
  }

  /// Calls on a different thread than the one that created the exporter. Returns false if the call threw.
  template <class Call>
  bool call(const Call& what) {
    bool threw = false;
    std::thread([&] {
      try {
        what();
      } catch (...) { threw = true; }
    }).join();
    require(!threw, "no call throws");
    return !threw;
  }

  template <class Call>
  Milliseconds time_of(const Call& what) {
    const auto begin = std::chrono::steady_clock::now();
    call(what);
    return std::chrono::duration_cast<Milliseconds>(std::chrono::steady_clock::now() - begin);
  }

  void begin(Exporter& exporter, const Run& run) {
    Snapshot first = run.snapshot;  // without rows and metrics
    first.rows.clear();
    first.metrics.clear();
    require(time_of([&] { exporter.begin(first); }) <= kSoon, "begin() returns within a second");
  }

  ExportResult show(Exporter& exporter, Run& run) {
    ExportResult result = ExportResult::drop;
    call([&] { result = exporter.export_snapshot(run.snapshot); });
    run.answered(result);
    return result;
  }

  /// Passes the last snapshot, again while the exporter returns retry, and ends it. Returns the result of shutdown().
  bool end(Exporter& exporter, Run& run, Milliseconds deadline) {
    run.snapshot.finished = true;
    const auto until = std::chrono::steady_clock::now() + deadline;
    while (show(exporter, run) == ExportResult::retry && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(Milliseconds(1));
    }
    bool delivered = false;
    const Milliseconds took = time_of([&] { delivered = exporter.shutdown(deadline); });
    require(took <= deadline + kSoon, "shutdown() meets its deadline");
    return delivered && run.snapshot.rows.empty();
  }

  Steps arrived() { return driver_.can_tell() ? driver_.steps() : Steps(); }
  bool has(const Steps& wanted) { return !driver_.can_tell() || driver_.steps() == wanted; }

  void check_name() {
    const std::unique_ptr<Exporter> exporter = driver_.exporter();
    const char* const name = exporter->name();
    const std::string text = name == nullptr ? "" : name;
    require(!text.empty() && text.size() <= 40, "name() is short, and not empty");
    require(name != nullptr && text == exporter->name(), "name() is the same each time");
  }

  void check_rows() {
    std::unique_ptr<Exporter> exporter = driver_.exporter();
    Run run;
    begin(*exporter, run);
    for (int period = 0; period < 5; ++period) {
      run.go_on("loss");
      const ExportResult result = show(*exporter, run);
      require(result != ExportResult::drop, "nothing is dropped while the destination accepts data");
    }
    require(end(*exporter, run, kTimeout), "shutdown() delivers everything while the destination accepts data");
    exporter.reset();
    Steps all;
    for (std::uint64_t step = 0; step < run.next; ++step) { all.push_back(static_cast<std::int64_t>(step)); }
    require(has(all), "each row arrives once, in order");
  }

  void check_little() {
    for (const bool begins : {false, true}) {
      std::unique_ptr<Exporter> exporter = driver_.exporter();
      if (begins) { begin(*exporter, Run()); }
      call([&] { exporter.reset(); });
      exporter = driver_.exporter();
      if (begins) { begin(*exporter, Run()); }
      bool flushed = false;
      call([&] { flushed = exporter->flush(kTimeout); });
      require(flushed, "flush() before the first snapshot has nothing to send and returns true");
      call([&] { exporter->shutdown(kTimeout); });
    }
    const std::unique_ptr<Exporter> exporter = driver_.exporter();
    Run empty;
    empty.snapshot.paths.clear();
    empty.snapshot.series.clear();
    empty.snapshot.threads.clear();
    begin(*exporter, empty);
    require(end(*exporter, empty, kTimeout), "a run in which nothing was recorded is delivered");
    require(has({}), "a run in which nothing was recorded has no rows");
  }

  void check_twice() {
    std::unique_ptr<Exporter> exporter = driver_.exporter();
    Run run;
    begin(*exporter, run);
    run.go_on("loss");
    show(*exporter, run);
    for (int time = 0; time < 2; ++time) {
      call([&] { exporter->flush(kTimeout); });
    }
    end(*exporter, run, kTimeout);
    const Steps before = arrived();
    call([&] {
      exporter->flush(kLittle);
      exporter->shutdown(kLittle);
    });
    exporter.reset();
    require(has(before), "calls after shutdown() change nothing");
    require(run.taken.empty() || has(run.taken), "two calls of flush() send nothing twice");
  }

  void check_names() {
    const std::string long_name(3'000, 'x');
    const std::string names[] = {"a\"b,c;d'e\\f",
                                 "line\nfeed\ttab\r",
                                 "../../etc/passwd",
                                 "",
                                 " ",
                                 "\xC3\xA9 \xF0\x9F\x98\x80",
                                 "\xFF\xFE not UTF-8",
                                 "{}%s%n",
                                 long_name,
                                 std::string("zero\0byte", 9)};
    for (const std::string& name : names) {
      std::unique_ptr<Exporter> exporter = driver_.exporter();
      Run run(name);
      run.snapshot.run.name = run.snapshot.threads[0].name = name;
      run.snapshot.params[name] = name;
      run.snapshot.tags[name] = name;
      begin(*exporter, run);
      run.go_on(name);
      show(*exporter, run);
      const bool delivered = end(*exporter, run, kTimeout);
      exporter.reset();
      require(delivered && run.taken.size() == run.next && has(run.taken), "unusual names cause no dropped rows");
    }
  }

  /// Requires that everything answered with `ok` arrives, once and in order, unless shutdown() returns false.
  void require_honest(bool delivered, const Run& run) {
    if (!driver_.can_tell()) { return; }
    const Steps there = driver_.steps();
    require(!delivered || there == run.taken, "data answered with ok have arrived if shutdown() returns true");
    require(
        std::adjacent_find(there.begin(), there.end(), [](auto one, auto next) { return one >= next; }) == there.end(),
        "an outage neither repeats rows nor changes their order");
  }

  void check_outage() {
    if (!driver_.can_fail()) { return; }
    std::unique_ptr<Exporter> exporter = driver_.exporter();
    Run run;
    begin(*exporter, run);
    for (int period = 0; period < 9; ++period) {
      driver_.fail(period >= 3 && period < 6);
      run.go_on("loss");
      show(*exporter, run);
    }
    driver_.fail(false);
    const bool delivered = end(*exporter, run, kTimeout);
    exporter.reset();
    require_honest(delivered, run);
  }

  void check_run_of_outage() {
    if (!driver_.can_fail()) { return; }
    std::unique_ptr<Exporter> exporter = driver_.exporter();
    Run run;
    driver_.fail(true);
    begin(*exporter, run);
    for (int period = 0; period < 3; ++period) {
      run.go_on("loss");
      show(*exporter, run);
    }
    const Milliseconds took = time_of([&] { exporter->flush(kLittle); });
    require(took <= kLittle + kSoon, "flush() meets its deadline");
    const bool delivered = end(*exporter, run, kLittle);
    call([&] { exporter.reset(); });
    driver_.fail(false);
    require_honest(delivered, run);
  }

  Driver& driver_;
  std::vector<std::string> failures_;
};

/// Returns the contract violations of `driver`'s exporter, one line each.
template <class Driver>
std::vector<std::string> check_exporter_conformance(Driver& driver) {
  return ExporterConformance<Driver>(driver).run();
}

TAKT_END_NAMESPACE
