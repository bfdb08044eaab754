// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/wandb_destination.hpp"

#include <takt/error.hpp>
#include <takt/exporters/wandb.hpp>

#include "findings/findings.hpp"
#include "findings/step_history.hpp"
#include "journal/journal_writer.hpp"
#include "support/catch.hpp"
#include "support/caught_errors.hpp"
#include "support/fake_wandb.hpp"
#include "support/journal_helpers.hpp"
#include "support/mentions.hpp"
#include "support/other_processes.hpp"
#include "support/random.hpp"
#include "support/sampled_run.hpp"
#include "support/scratch.hpp"
#include "support/wandb_reader.hpp"
#include "wandb/wandb_directory.hpp"
#include "wandb/wandb_log.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

using namespace takt_test;
using std::chrono::milliseconds;
using takt::Snapshot;
using takt::WandbMode;
using takt::WandbOptions;
using takt::cli::Outcome;
using takt::cli::WandbDelivered;
using takt::cli::WandbDelivery;

namespace {

/// A run directory with a journal, and a program next to it that writes part of the data for W&B.
struct Rig {
  /// \param late some rows wait for device values.
  explicit Rig(std::uint64_t seed, int periods, bool finished = true, bool late = false) {
    REQUIRE(::mkdir(directory.c_str(), 0700) == 0);
    GrowingRun run(seed);
    run.late = late;
    takt::StepHistory history;
    for (int period = 0; period < periods; ++period) {
      Snapshot snapshot = run.next(finished && period + 1 == periods);
      for (std::vector<takt::Row>* const rows : {&snapshot.rows, &snapshot.early}) {
        for (takt::Row& row : *rows) {
          row.begin_ns *= 3'000'000;
          row.host_ns *= 3'000'000;
        }
      }
      for (takt::Metric& metric : snapshot.metrics) { metric.time_unix_ns = 1'700'000'000'000'000'000; }
      snapshot.run.start_unix_ns = 1'700'000'000'000'000'000;
      snapshot.run.host = this_host();
      snapshot.run.pid = kNobody;
      snapshot.run.directory = directory;
      snapshot.params = {{"lr", "0.1"}};
      snapshot.failed = false;
      sample_second(snapshot, period);
      history.add(snapshot);
      if (snapshot.finished) {
        takt::detail::conclude(snapshot, std::make_shared<const takt::StepHistory>(history.finished()));
      }
      all.push_back(snapshot);
    }
    options.directory = scratch.path("");
    options.every_step = true;
    options.silent = true;
  }

  /// Writes everything to the journal.
  void journal() {
    takt::detail::JournalExporter journal(directory, plain_journal(20'000));
    for (const Snapshot& each : all) { REQUIRE(journal.export_snapshot(each) == takt::ExportResult::ok); }
  }
  void use(const FakeWandb& server) {
    options.base_url = server.http.url();
    options.api_key = std::string(40, 'k');
  }
  WandbDelivered deliver() {
    takt::detail::WandbTimes times;
    times.tries.first_wait = milliseconds(1);
    times.tries.longest_wait = milliseconds(4);
    return WandbDelivery(directory, options, std::make_shared<takt::cli::IdleTimeout>(milliseconds(60'000)), times)
        .run();
  }
  /// Returns the log of the only run in W&B's directory.
  std::string log_file() const {
    std::vector<std::string> found;
    for (const auto& each : std::filesystem::recursive_directory_iterator(scratch.path("wandb"))) {
      if (each.path().extension() == ".wandb") { found.push_back(each.path()); }
    }
    REQUIRE(found.size() == 1);
    return found[0];
  }

  Scratch scratch;
  std::string directory = scratch.path("rank-0-0-1");
  std::vector<Snapshot> all;
  WandbOptions options;
};

/// Contents of a log: the values by row without the common ones, in any order; row numbers are checked.
struct Log {
  explicit Log(const std::string& file) {
    std::int64_t number = 0;
    for (const std::string& bytes : wandb_log_records(read_text(file))) {
      const WandbMessage record(bytes);
      CHECK(record.numbers.at(1) == ++number);
      if (record.has(18)) {
        const WandbMessage exit = record.message(18);
        exits.push_back(exit.numbers.count(1) == 0 ? 0 : exit.numbers.at(1));
      }
      if (record.has(3)) {
        for (const auto& [name, json] : record.message(3).items()) { summary[name] = json; }
      }
      if (record.has(7)) {
        const WandbMessage system = record.message(7);
        const std::string seconds = std::to_string(system.message(2).numbers.at(1));
        ++events;
        for (const std::string& bytes_of_item : system.texts.at(3)) {
          const WandbMessage item(bytes_of_item);
          values.insert(item.text(1) + " at " + seconds + " " + item.text(16));
        }
      }
      if (!record.has(2)) { continue; }
      auto items = record.message(2).items();
      CHECK(items.at("_step") == std::to_string(rows++));
      const std::string step = items.at("takt/step");
      for (const char* const name : {"_step", "takt/step", "takt/epoch", "_timestamp", "_runtime"}) {
        items.erase(name);
      }
      for (const auto& [name, json] : items) { values.insert(name + " " + step + " " + json); }
    }
    for (const char* const name : {"_step", "_timestamp", "_runtime", "takt/epoch", "_wandb"}) { summary.erase(name); }
  }

  int rows = 0;
  int events = 0;  // lines of system metrics
  std::multiset<std::string> values;
  std::map<std::string, std::string> summary;
  std::vector<std::int64_t> exits;
};

/// Returns "name is 1, not 2" for each difference.
std::string difference(const std::map<std::string, std::string>& is, const std::map<std::string, std::string>& wanted) {
  std::string text;
  std::map<std::string, std::string> both = wanted;
  both.insert(is.begin(), is.end());
  for (const auto& [name, ignored] : both) {
    const std::string one = is.count(name) == 0 ? "absent" : is.at(name);
    const std::string other = wanted.count(name) == 0 ? "absent" : wanted.at(name);
    if (one != other) { text += name + " is " + one + ", not " + other + "\n"; }
  }
  return text;
}

/// Returns the log that the program would have written without interruption.
Log undisturbed(std::uint64_t seed, int periods) {
  const Rig rig(seed, periods);
  takt::WandbExporter exporter(rig.options);
  for (const Snapshot& each : rig.all) { exporter.export_snapshot(each); }
  REQUIRE(exporter.shutdown(milliseconds(20'000)));
  return Log(rig.log_file());
}

}  // namespace

TEST_CASE("W&B delivery: a run unknown to W&B gets the log that its program would have written") {
  const Log expected = undisturbed(4, 60);
  Rig rig(4, 60);
  rig.journal();
  const WandbDelivered delivered = rig.deliver();
  CHECK(delivered.outcome == Outcome::written);
  CHECK_FALSE(delivered.why.empty());  // it was to be sent, but there is no key
  const Log log(rig.log_file());
  CHECK(log.values.size() > 500);
  CHECK(log.values == expected.values);
  CHECK(log.values.count("gpu.0.powerWatts at 1700000030 5.333333333333333") == 1);
  CHECK(log.events >= 3);  // in 60 s
  CHECK(difference(log.summary, expected.summary) == "");
  CHECK(log.exits == std::vector<std::int64_t>{0});
  CHECK(delivered.rows == static_cast<std::uint64_t>(log.rows));
  const std::string before = read_text(rig.log_file());
  rig.options.mode = WandbMode::offline;
  const WandbDelivered again = rig.deliver();
  CHECK(again.outcome == Outcome::written);
  CHECK(again.why.empty());
  CHECK(read_text(rig.log_file()) == before);
}

TEST_CASE("W&B delivery: continues the log of a program killed anywhere, with each value once") {
  const bool ended = GENERATE(false, true);  // the journal, which may contain the end of the run
  Random random(7);
  for (int round = 0; round < 12; ++round) {
    Rig rig(11, 40, ended);
    rig.journal();
    const std::size_t shown = 1 + random.below(rig.all.size() - 1);
    {
      takt::WandbExporter exporter(rig.options);
      for (std::size_t at = 0; at < shown; ++at) { exporter.export_snapshot(rig.all[at]); }
    }
    // Partial record at the time of the kill.
    write_text(rig.log_file(), read_text(rig.log_file()) + std::string(random.below(500), 'x'));
    INFO("shown " << shown);
    CHECK(rig.deliver().outcome == Outcome::written);
    const Log log(rig.log_file());
    CHECK(log.exits == std::vector<std::int64_t>{ended ? 0 : 1});
    if (ended) {
      const Log expected = undisturbed(11, 40);
      CHECK(log.values == expected.values);
      CHECK(difference(log.summary, expected.summary) == "");
    } else {
      CHECK(std::set<std::string>(log.values.begin(), log.values.end()).size() == log.values.size());
    }
  }
}

TEST_CASE("W&B delivery: a run whose log could not be started keeps the id that its program gave it") {
  Rig rig(test_seed(), 3);
  rig.journal();
  const std::string space = rig.options.directory;
  write_text(rig.scratch.path("file"), "");
  rig.options.directory = rig.scratch.path("file/below");
  rig.options.run_id = "mine";
  rig.options.resume = takt::WandbResume::allow;
  {
    const support::CaughtErrors errors;
    takt::WandbExporter exporter(rig.options);
    for (const Snapshot& each : rig.all) { exporter.export_snapshot(each); }
    CHECK_FALSE(exporter.shutdown(milliseconds(20'000)));
    CHECK(mentions(errors.text(), {"WANDB_DIR"}));
  }
  rig.options.run_id.clear();  // as set by takt sync
  rig.options.resume = takt::WandbResume::unset;
  {
    const support::CaughtErrors errors;
    CHECK(rig.deliver().outcome == Outcome::some);
  }
  rig.options.directory = space;
  const WandbDelivered delivered = rig.deliver();
  CHECK(delivered.resume == takt::WandbResume::allow);
  CHECK(contains(rig.log_file(), "/run-mine.wandb"));
  CHECK(Log(rig.log_file()).exits.size() == 1);
}

TEST_CASE("W&B delivery: the log of a killed program includes steps whose device values never arrived") {
  Rig rig(1, 60, false, true);
  rig.journal();
  std::set<std::int64_t> waiting;
  for (const Snapshot& each : rig.all) {
    for (const takt::Row& row : each.early) { waiting.insert(row.step); }
    for (const takt::Row& row : each.rows) { waiting.erase(row.step); }
  }
  REQUIRE(!waiting.empty());
  CHECK(rig.deliver().outcome == Outcome::written);
  const Log log(rig.log_file());
  for (const std::int64_t step : waiting) {
    const std::string number = " " + std::to_string(step) + " ";
    INFO("step " << step);
    CHECK(std::any_of(log.values.begin(), log.values.end(),
                      [&](const std::string& value) { return value.find(number) != std::string::npos; }));
  }
}

TEST_CASE("W&B delivery: a run mistaken for killed that continues has all its rows and its own end", "[timed]") {
  const std::uint64_t seed = test_seed();
  const int died_at = GENERATE(1, 12, 28);
  const bool online = GENERATE(false, true);
  const Log live = undisturbed(seed, 30);
  Rig rig(seed, 30);
  FakeWandb server;
  if (online) { rig.use(server); }
  takt::detail::JournalExporter journal(rig.directory, plain_journal(20'000));
  for (int at = 0; at < 30; ++at) {
    REQUIRE(journal.export_snapshot(rig.all[static_cast<std::size_t>(at)]) == takt::ExportResult::ok);
    if (at != died_at) { continue; }
    CHECK(rig.deliver().outcome == (online ? Outcome::all : Outcome::written));
    CHECK(Log(rig.log_file()).exits == std::vector<std::int64_t>{1});
    const std::string whole = read_text(rig.log_file());
    rig.deliver();
    CHECK(read_text(rig.log_file()) == whole);  // while unchanged
  }
  CHECK(rig.deliver().outcome == (online ? Outcome::all : Outcome::written));
  const Log both(rig.log_file());
  CHECK(both.exits == std::vector<std::int64_t>{0});
  CHECK(std::includes(both.values.begin(), both.values.end(), live.values.begin(), live.values.end()));
  CHECK(difference(both.summary, live.summary) == "");
  if (online) { CHECK(server.history().size() == static_cast<std::size_t>(both.rows)); }
}

TEST_CASE("W&B delivery: stopped at any request the next one continues, and a third has nothing to do", "[timed]") {
  Random random(3);
  for (int round = 0; round < 10; ++round) {
    Rig rig(5, 40);
    rig.journal();
    const std::size_t last = random.below(10);
    std::atomic<std::size_t> asked{0};
    FakeWandb server([&](const std::string&, const FakeRequest&, FakeAnswer& answer) {
      const std::size_t number = ++asked;
      answer.cut = number > last && number < last + 1000 && round % 2 == 0;
      if (number == last + 1 && round % 2 == 1) { answer.status = 401; }
    });
    rig.use(server);
    const bool stops = last < 8;  // a full delivery takes 8
    const milliseconds timeout(stops ? 30 : 60'000);
    auto first = std::make_unique<WandbDelivery>(
        rig.directory, rig.options, std::make_shared<takt::cli::IdleTimeout>(timeout), takt::detail::WandbTimes());
    const Outcome outcome = first->run().outcome;
    INFO("stops at request " << last);
    CHECK((outcome == Outcome::some) == stops);
    asked = 2000;
    CHECK(rig.deliver().outcome == Outcome::all);
    const Log log(rig.log_file());
    CHECK(server.history().size() == static_cast<std::size_t>(log.rows));
    CHECK(server.events().size() == static_cast<std::size_t>(log.events));
    CHECK(exists(rig.log_file() + ".synced"));
    const std::size_t requests = server.http.requests().size();
    CHECK(rig.deliver().outcome == Outcome::all);
    CHECK(server.http.requests().size() == requests + 1);  // the query for the run
    CHECK(server.kinds().back() == "resume");
  }
}

TEST_CASE("W&B delivery: everything is delivered only if the named server says so, not by the cursor", "[timed]") {
  const support::CaughtErrors errors;
  Rig rig(test_seed(), 4);
  rig.journal();
  FakeWandb server;
  rig.use(server);
  REQUIRE(rig.deliver().outcome == Outcome::all);
  const std::size_t requests = server.http.requests().size();
  const WandbDelivered again = rig.deliver();
  CHECK((again.outcome == Outcome::all && again.asked));
  CHECK(server.http.requests().size() == requests + 1);

  FakeWandb other;
  rig.use(other);
  CHECK(rig.deliver().outcome == Outcome::all);
  CHECK(other.history() == server.history());

  other.taken.clear();
  const WandbDelivered lost = rig.deliver();
  CHECK(lost.outcome == Outcome::some);
  CHECK(contains(lost.why, "does not confirm that it has"));

  rig.use(server);
  REQUIRE(rig.deliver().outcome == Outcome::all);
  rig.options.api_key.clear();
  const WandbDelivered unasked = rig.deliver();
  CHECK((unasked.outcome == Outcome::all && !unasked.asked));
}

TEST_CASE("W&B delivery: without time it waits for the request in progress", "[timed]") {
  Rig rig(6, 10);
  rig.journal();
  std::atomic<bool> looked{false};
  FakeWandb server([&](const std::string&, const FakeRequest&, FakeAnswer&) {
    while (!looked) { std::this_thread::yield(); }
  });
  rig.use(server);
  const auto none = std::make_shared<takt::cli::IdleTimeout>(milliseconds(0));
  WandbDelivery delivery(rig.directory, rig.options, none, takt::detail::WandbTimes());
  CHECK(delivery.run([&](auto...) { looked = true; }).outcome == Outcome::all);
}

TEST_CASE("W&B delivery: does not repeat data sent by the program", "[timed]") {
  Rig rig(6, 50);
  rig.journal();
  FakeWandb server;
  rig.use(server);
  {
    takt::WandbExporter exporter(rig.options);
    for (std::size_t at = 0; at < 20; ++at) { exporter.export_snapshot(rig.all[at]); }
    exporter.flush(milliseconds(60'000));
  }
  const std::size_t there = server.history().size();
  CHECK(there > 10);
  CHECK(server.events().size() == 1);  // of fifteen seconds
  const std::size_t requests = server.http.requests().size();
  const WandbDelivered delivered = rig.deliver();
  CHECK(delivered.outcome == Outcome::all);
  CHECK(delivered.run == "some/one/p r/id");
  for (const FakeRequest& each : server.of_kind("stream")) {
    if (each.at > server.http.requests()[requests - 1].at) {
      CHECK_FALSE(contains(each.body, R"("offset":0,"content":["{\"t)"));
      CHECK_FALSE(contains(each.body, R"("wandb-events.jsonl":{"offset":0)"));
    }
  }
  CHECK(server.history().size() == delivered.rows);
  CHECK(server.events().size() == 3);
}

TEST_CASE("W&B delivery: for a run that continues another one, the rest follows the program's data", "[timed]") {
  const takt::WandbResume resume = GENERATE(takt::WandbResume::unset, takt::WandbResume::allow);
  Rig rig(6, 30);
  rig.journal();
  FakeWandb server;
  server.has_run = true;
  server.before = {"{}", "{}"};
  server.there = {{"historyTail", R"(["{\"_step\":41}"])"}, {"summaryMetrics", R"({"old":1})"}, {"config", "{}"}};
  rig.use(server);
  WandbOptions options = rig.options;
  options.run_id = "id";
  options.resume = resume;
  {
    takt::WandbExporter exporter(options);
    for (std::size_t at = 0; at < 20; ++at) { exporter.export_snapshot(rig.all[at]); }
    exporter.flush(milliseconds(60'000));
  }
  CHECK(server.history().size() > 10);
  const WandbDelivered delivered = rig.deliver();
  CHECK(delivered.outcome == Outcome::all);
  const std::vector<std::string> history = server.history();
  REQUIRE(history.size() == delivered.rows + 2);
  const std::size_t first = resume == takt::WandbResume::unset ? 0 : 42;
  for (std::size_t at = 2; at < history.size(); ++at) {
    CHECK(contains(history[at], "\"_step\":" + std::to_string(at - 2 + first) + "}"));
  }
  const std::vector<FakeRequest> files = server.of_kind("file");
  const bool kept = std::any_of(files.begin(), files.end(),
                                [](const FakeRequest& each) { return contains(each.body, R"("old":1)"); });
  CHECK(kept == (resume == takt::WandbResume::allow));
}

TEST_CASE("W&B delivery: waits while a program writes, and changes nothing") {
  Rig rig(8, 30);
  rig.journal();
  takt::WandbExporter exporter(rig.options);
  exporter.export_snapshot(rig.all[0]);
  const std::string before = read_text(rig.log_file());
  const WandbDelivered delivered = rig.deliver();
  CHECK(delivered.outcome == Outcome::busy);
  CHECK(contains(delivered.why, std::to_string(::getpid())));
  CHECK(read_text(rig.log_file()) == before);
}

TEST_CASE("W&B delivery: ranks other than 0 have no run, unless all are requested") {
  Rig rig(9, 10);
  for (Snapshot& each : rig.all) {
    each.run.rank = 1;
    each.run.world_size = 2;
  }
  rig.journal();
  CHECK(rig.deliver().outcome == Outcome::not_sent);
  CHECK_FALSE(exists(rig.scratch.path("wandb")));
  rig.options.all_ranks = true;
  CHECK(rig.deliver().outcome == Outcome::written);
}

TEST_CASE("W&B delivery: a missing or shortened log is an error with its remedy") {
  Rig rig(10, 20);
  rig.journal();
  {
    takt::WandbExporter exporter(rig.options);
    for (std::size_t at = 0; at < 10; ++at) { exporter.export_snapshot(rig.all[at]); }
  }
  const std::string log = rig.log_file();
  if (GENERATE(false, true)) {
    ::unlink(log.c_str());
  } else {
    REQUIRE(::truncate(log.c_str(), 100) == 0);
  }
  CHECK_THROWS_WITH(rig.deliver(), takt_test::containing(takt::detail::kWandb.cursor_file(rig.directory)));
  write_text(takt::detail::kWandb.cursor_file(rig.directory), "{}");
  CHECK_THROWS_WITH(rig.deliver(), takt_test::containing("emove"));
}

TEST_CASE("W&B delivery: data that an exporter could not take is read from the journal, in order and once") {
  const support::CaughtErrors errors;
  const int back = GENERATE(0, 55, 59);  // until that snapshot; 0: the journal ends after the run
  Rig rig(4, 60);
  takt::detail::JournalExporter journal(rig.directory, plain_journal(20'000));
  takt::WandbExporter exporter(rig.options);
  for (std::size_t at = 0; at < rig.all.size(); ++at) {
    const bool stalls = back == 0 && at >= 55;  // for less than the limit after which it is dropped
    if (!stalls) { REQUIRE(journal.export_snapshot(rig.all[at]) == takt::ExportResult::ok); }
    const bool held_up = at >= 20 && at < static_cast<std::size_t>(back == 0 ? 57 : back);
    if (!held_up) { exporter.export_snapshot(rig.all[at]); }
  }
  CHECK(exporter.shutdown(milliseconds(back == 0 ? 200 : 20'000)) == (back != 0));
  CHECK(errors.lines().size() >= 1);
  CHECK(contains(errors.text(), "journal"));
  if (back == 0) {
    CHECK(Log(rig.log_file()).exits.empty());
    for (std::size_t at = 55; at < rig.all.size(); ++at) {
      REQUIRE(journal.export_snapshot(rig.all[at]) == takt::ExportResult::ok);
    }
    CHECK(rig.deliver().outcome == Outcome::written);
  }
  const Log expected = undisturbed(4, 60);
  const Log log(rig.log_file());
  CHECK(log.values == expected.values);
  CHECK(difference(log.summary, expected.summary) == "");
  CHECK(log.exits == std::vector<std::int64_t>{0});
}

TEST_CASE("W&B delivery: data that is in no journal stays missing, and takt sync reports that") {
  const support::CaughtErrors errors;
  Rig rig(4, 60);
  {
    takt::WandbExporter exporter(rig.options);
    for (std::size_t at = 0; at < 50; ++at) {
      if (at < 20 || at >= 40) { exporter.export_snapshot(rig.all[at]); }
    }
  }
  rig.journal();
  const std::size_t before = Log(rig.log_file()).values.size();
  CHECK(rig.deliver().outcome == Outcome::written);
  CHECK(errors.lines().size() == 1);
  const Log log(rig.log_file());
  CHECK(log.values.size() >= before);
  CHECK(log.values.size() < undisturbed(4, 60).values.size());
  CHECK(std::set<std::string>(log.values.begin(), log.values.end()).size() == log.values.size());
}

TEST_CASE("W&B delivery: an empty directory is not readable") {
  Rig rig(10, 1);
  CHECK(rig.deliver().outcome == Outcome::unreadable);
}

namespace {

/// Returns everything in a directory: metadata and contents of each entry.
std::string picture_of(const std::string& directory) {
  std::set<std::string> lines;
  for (const auto& each : std::filesystem::recursive_directory_iterator(directory)) {
    struct stat status = {};
    REQUIRE(::lstat(each.path().c_str(), &status) == 0);
    std::string line =
        each.path().string() + " " + std::to_string(status.st_mode) + " " + std::to_string(status.st_ino);
    if (S_ISREG(status.st_mode)) { line += " " + read_text(each.path()); }
    lines.insert(line);
  }
  std::string all;
  for (const std::string& each : lines) { all += each + "\n"; }
  return all;
}

/// A run of which the program was killed after writing a part.
struct HalfWritten : Rig {
  explicit HalfWritten(std::uint64_t seed = 12) : Rig(seed, 40) {
    journal();
    takt::WandbExporter exporter(options);
    for (std::size_t at = 0; at < 20; ++at) { exporter.export_snapshot(all[at]); }
  }
  std::string cursor_file() const { return takt::detail::kWandb.cursor_file(directory); }
  takt::detail::WandbCursor cursor() const {
    takt::detail::WandbCursor found;
    REQUIRE(takt::detail::parse_wandb_cursor(read_text(cursor_file()), found));
    return found;
  }
  void write(const takt::detail::WandbCursor& changed) const {
    ::unlink(cursor_file().c_str());
    write_text(cursor_file(), takt::detail::format_wandb_cursor(changed));
  }
  /// Checks that it is refused with these words and a remedy, and that nothing changes.
  void must_be_refused(const std::string& words) {
    const std::string before = picture_of(scratch.path(""));
    CHECK_THROWS_WITH(deliver(), takt_test::containing(words) && takt_test::containing(cursor_file()));
    CHECK(picture_of(scratch.path("")) == before);
  }
};

}  // namespace

TEST_CASE("W&B delivery: a damaged byte count does not truncate a log") {
  HalfWritten rig;
  takt::detail::WandbCursor cursor = rig.cursor();
  const std::uint64_t whole = cursor.bytes;
  REQUIRE(whole > 1000);
  for (const std::uint64_t bytes :
       {std::uint64_t{0}, std::uint64_t{7}, std::uint64_t{100}, whole - 1, whole + 1, whole * 2}) {
    cursor.bytes = bytes;
    rig.write(cursor);
    rig.must_be_refused("has changed");
  }
  // The end of a record, but not of the last one.
  takt::detail::WandbLogReader reader(cursor.log);
  std::string record;
  for (int records = 0; records < 8; ++records) {
    REQUIRE(reader.next(record) == takt::detail::WandbLogReader::Found::record);
    cursor.bytes = reader.position();
    rig.write(cursor);
    rig.must_be_refused("has changed");
  }
  cursor.bytes = whole;
  rig.write(cursor);
  CHECK(rig.deliver().outcome == Outcome::written);
}

TEST_CASE("W&B delivery: changes the file named in wandb.json only if it is this run's log") {
  HalfWritten rig;
  HalfWritten other(13);
  takt::detail::WandbCursor cursor = rig.cursor();
  const std::string log = cursor.log;
  const std::string id = log.substr(log.rfind('-') + 1);
  const std::string directory = log.substr(0, log.rfind('/'));
  const std::string before = picture_of(other.scratch.path(""));
  write_text(rig.scratch.path("victim"), std::string(100'000, 'v'));
  write_text(rig.scratch.path("victim.synced"), "");
  SECTION("any file") { cursor.log = rig.scratch.path("victim"); }
  SECTION("nothing") { cursor.log = ""; }
  SECTION("a path that leads outside") { cursor.log = directory + "/../../victim"; }
  SECTION("a path relative to the working directory") { cursor.log = "wandb/victim"; }
  SECTION("a log of another run") { cursor.log = other.cursor().log; }
  SECTION("a file that is not a log in its place") {
    std::filesystem::rename(log, log + ".real");
    write_text(log, std::string(100'000, 'v'));
  }
  SECTION("a link in place of the log") {
    std::filesystem::rename(log, log + ".real");
    REQUIRE(::symlink((log + ".real").c_str(), log.c_str()) == 0);
  }
  SECTION("a link in place of its directory") {
    std::filesystem::rename(directory, directory + ".real");
    REQUIRE(::symlink((directory + ".real").c_str(), directory.c_str()) == 0);
  }
  SECTION("a log with a further hard link elsewhere") {
    REQUIRE(::link(log.c_str(), rig.scratch.path("same").c_str()) == 0);
  }
  SECTION("a pipe") {
    std::filesystem::rename(log, log + ".real");
    REQUIRE(::mkfifo(log.c_str(), 0600) == 0);
  }
  rig.write(cursor);
  rig.must_be_refused("Nothing was changed");
  CHECK(picture_of(other.scratch.path("")) == before);
}

TEST_CASE("W&B delivery: attaches only a file in the run directory that starts like a trace") {
  const support::CaughtErrors errors;
  Rig rig(14, 10);
  rig.journal();
  const std::string trace = rig.directory + "/trace.json";
  write_text(rig.scratch.path("secret"), "-----BEGIN OPENSSH PRIVATE KEY-----");
  SECTION("a link") { REQUIRE(::symlink("../secret", trace.c_str()) == 0); }
  SECTION("a secret under that name") { REQUIRE(::link(rig.scratch.path("secret").c_str(), trace.c_str()) == 0); }
  SECTION("a pipe") { REQUIRE(::mkfifo(trace.c_str(), 0600) == 0); }
  rig.deliver();
  CHECK(mentions(errors.text(), {"trace.json"}));
  const std::string directory = rig.log_file().substr(0, rig.log_file().rfind('/')) + "/files/takt";
  CHECK(exists(directory + "/summary.json"));
  CHECK_FALSE(exists(directory + "/trace.json"));
  CHECK_FALSE(contains(read_text(rig.log_file()), "trace.json"));
}

TEST_CASE("W&B delivery: a special file in place of a cursor or the lease is left alone, with the remedy") {
  Rig rig(15, 10);
  rig.journal();
  const std::string file = GENERATE(as<std::string>(), "/wandb.json", "/wandb.lease");
  REQUIRE(::symlink("../victim", (rig.directory + file).c_str()) == 0);
  write_text(rig.scratch.path("victim"), "precious");
  const std::string before = picture_of(rig.scratch.path(""));
  CHECK_THROWS_WITH(rig.deliver(), takt_test::containing(file));
  CHECK(picture_of(rig.scratch.path("")) == before);
}
