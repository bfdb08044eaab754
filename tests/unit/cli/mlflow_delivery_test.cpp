// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/mlflow_destination.hpp"

#include <takt/error.hpp>

#include "base/other_process.hpp"
#include "base/report_error.hpp"
#include "cli/rank.hpp"
#include "findings/findings.hpp"
#include "findings/step_history.hpp"
#include "journal/journal_writer.hpp"
#include "mlflow/mlflow_cursor.hpp"
#include "support/catch.hpp"
#include "support/caught_errors.hpp"
#include "support/fake_mlflow.hpp"
#include "support/journal_helpers.hpp"
#include "support/mentions.hpp"
#include "support/other_processes.hpp"
#include "support/random.hpp"
#include "support/sampled_run.hpp"
#include "support/scratch.hpp"
#include "trackers/live_delivery.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <future>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace takt_test;
using std::chrono::milliseconds;
using takt::MlflowOptions;
using takt::Snapshot;
using takt::cli::MlflowDelivered;
using takt::cli::MlflowDelivery;
using takt::detail::JournalFeed;
using takt::detail::MlflowClient;
using takt::detail::MlflowCursor;
using takt::detail::SenderTimes;
using Mood = FakeMlflow::Mood;
using takt::cli::Outcome;

namespace {

SenderTimes quick() {
  SenderTimes times;
  times.connect = times.total = milliseconds(20'000);
  times.first_wait = milliseconds(1);
  times.longest_wait = milliseconds(4);
  return times;
}

MlflowOptions options_for(const FakeMlflow& server, bool every_step = false) {
  MlflowOptions options;
  options.tracking_uri = server.url();
  options.token = "s3cr3t-token";
  options.every_step = every_step;
  return options;
}

/// Returns the snapshots of a run with windows of a few rows. \param late some rows wait for device values.
std::vector<Snapshot> a_run(std::uint64_t seed, int periods, bool finished = true, bool late = false) {
  GrowingRun run(seed);
  run.late = late;
  std::vector<Snapshot> all;
  takt::StepHistory history;
  for (int period = 0; period < periods; ++period) {
    Snapshot snapshot = run.next(finished && period + 1 == periods);
    for (std::vector<takt::Row>* rows : {&snapshot.rows, &snapshot.early}) {
      for (takt::Row& row : *rows) {
        row.begin_ns *= 3'000'000;
        row.host_ns *= 3'000'000;
      }
    }
    for (takt::Metric& metric : snapshot.metrics) {
      metric.time_unix_ns = 1'700'000'000'000'000'000;
      // Two NaN values would be the same point.
      if (std::isnan(metric.value)) { metric.time_unix_ns += static_cast<std::int64_t>(metric.sequence) * 1'000'000; }
    }
    snapshot.run.start_unix_ns = 1'700'000'000'000'000'000;
    snapshot.run.host = this_host();
    snapshot.run.pid = kNobody;
    snapshot.run.directory.clear();
    snapshot.params = {{"lr", "0.1"}, {"batch", "64"}};
    snapshot.tags = {{"model", "small"}};
    snapshot.failed = false;
    sample_second(snapshot, period);
    history.add(snapshot);
    if (snapshot.finished) {
      takt::detail::conclude(snapshot, std::make_shared<const takt::StepHistory>(history.finished()));
    }
    all.push_back(snapshot);
  }
  return all;
}

std::string directory_with(const Scratch& scratch, const std::vector<Snapshot>& run) {
  const std::string directory = scratch.path("rank-0-0-1");
  REQUIRE(::mkdir(directory.c_str(), 0700) == 0);
  takt::detail::JournalExporter journal(directory, plain_journal(20'000));
  for (const Snapshot& each : run) { REQUIRE(journal.export_snapshot(each) == takt::ExportResult::ok); }
  return directory;
}

FakeRun sent_live(const std::vector<Snapshot>& run, bool every_step) {
  FakeMlflow server;
  takt::MlflowExporter exporter(options_for(server, every_step));
  for (const Snapshot& each : run) { exporter.export_snapshot(each); }
  REQUIRE(exporter.shutdown(milliseconds(20'000)));
  return server.run();
}

MlflowDelivered deliver(const std::string& directory, const MlflowOptions& options,
                        milliseconds timeout = milliseconds(60'000)) {
  return MlflowDelivery(directory, options, std::make_shared<takt::cli::IdleTimeout>(timeout), quick()).run();
}

}  // namespace

TEST_CASE("a run without network gives the same points when it is delivered later", "[timed]") {
  const bool every_step = GENERATE(false, true);
  const bool late = GENERATE(false, true);
  INFO("every step " << every_step << ", late " << late);
  const auto run = a_run(every_step ? 3 : 4, 200, true, late);
  const FakeRun live = sent_live(run, every_step);
  const Scratch scratch;
  const std::string directory = directory_with(scratch, run);
  FakeMlflow server;
  const MlflowDelivered delivered = deliver(directory, options_for(server, every_step));
  CHECK(delivered.outcome == Outcome::all);
  CHECK(delivered.points == live.points.size());
  const FakeRun later = server.run();
  CHECK(live.points.size() > 500);
  CHECK(later.points == live.points);
  CHECK(later.history.at("system/gpu_0_utilization_percentage").size() == 19);  // windows of 10 s, except the last
  CHECK(later.params == live.params);
  CHECK(later.tags == live.tags);
  CHECK(later.status == "FINISHED");
  CHECK(later.files == live.files);
  CHECK(later.sent_twice == 0);
}

TEST_CASE("findings of a run are sent when it is delivered later, too", "[timed]") {
  auto run = a_run(5, 20);
  for (Snapshot& each : run) { each.losses.push_back({"never_ended", "embed", 2}); }
  const Scratch scratch;
  FakeMlflow server;
  REQUIRE(deliver(directory_with(scratch, run), options_for(server)).outcome == Outcome::all);
  const std::string reported = server.run().tags.at("takt.findings");
  CHECK(mentions(reported.substr(0, reported.find('\n')), {"\"embed\"", "2"}));
}

TEST_CASE("a second delivery queries the server for the run and names the server", "[timed]") {
  const Scratch scratch;
  const std::string directory = directory_with(scratch, a_run(5, 30));
  FakeMlflow server;
  REQUIRE(deliver(directory, options_for(server)).outcome == Outcome::all);
  const std::size_t requests = server.requests();
  const MlflowDelivered again = deliver(directory, options_for(server));
  CHECK(again.outcome == Outcome::all);
  CHECK(again.points == 0);
  CHECK(again.run_id == "r0");
  CHECK(again.server == server.url());
  CHECK(server.requests() == requests + 1);
  CHECK(server.requests("runs/get") == 1);
}

TEST_CASE("a server without the run is not reported as having everything, nor is a missing server", "[timed]") {
  const support::CaughtErrors errors;
  const Scratch scratch;
  const std::string directory = directory_with(scratch, a_run(5, 30));
  FakeMlflow server;
  REQUIRE(deliver(directory, options_for(server)).outcome == Outcome::all);
  FakeMlflow other;
  other.fail_over([](const FakeRequest&) { return true; }, 404);
  const MlflowDelivered elsewhere = deliver(directory, options_for(other));
  CHECK(elsewhere.outcome == Outcome::some);
  CHECK(mentions(elsewhere.why, {"r0", server.url()}));
  CHECK(mentions(elsewhere.why, {other.url()}));
  CHECK(contains(elsewhere.why, "remove " + takt::detail::kMlflow.cursor_file(directory)));
  FakeMlflow silent([](std::size_t) { return Mood::away; });
  const MlflowDelivered nowhere = deliver(directory, options_for(silent), milliseconds(20));
  CHECK(nowhere.outcome == Outcome::some);
  CHECK(contains(nowhere.why, silent.url()));
  CHECK(contains(errors.text(), "takt sync " + directory));
}

TEST_CASE("a delivery sleeps until the next try is due", "[timed]") {
  const Scratch scratch;
  const std::string directory = directory_with(scratch, a_run(4, 3));
  FakeMlflow silent([](std::size_t) { return Mood::away; });
  SenderTimes slow = quick();
  slow.first_wait = slow.longest_wait = std::chrono::minutes(1);
  int looks = 0;
  MlflowDelivery delivery(directory, options_for(silent), std::make_shared<takt::cli::IdleTimeout>(milliseconds(1000)),
                          slow);
  CHECK(delivery.run([&looks](std::uint64_t, std::uint64_t) { ++looks; }).outcome == Outcome::some);
  CHECK(looks > 1);
  CHECK(looks < 20);  // 5 slices and those of the request in progress
}

TEST_CASE("a run started by another version continues with the points of this version", "[timed]") {
  const auto run = a_run(4, 100);
  const Scratch scratch;
  const std::string directory = directory_with(scratch, run);
  MlflowCursor cursor;
  cursor.first_schema = true;
  cursor.run_id = "r0";
  cursor.of = takt::detail::mlflow_cursor_owner(run.front().run);
  write_text(takt::detail::kMlflow.cursor_file(directory), takt::detail::format_cursor(cursor));
  FakeMlflow server;
  CHECK(deliver(directory, options_for(server)).outcome == Outcome::all);
  const FakeRun sent = server.run();
  const auto has = [&](const char* what) {
    return std::any_of(sent.history.begin(), sent.history.end(),
                       [&](const auto& each) { return contains(each.first, what); });
  };
  CHECK(has("/p50_s"));
  CHECK(has("total/wall_s"));
  CHECK_FALSE(has("/share"));
  REQUIRE(takt::detail::parse_cursor(read_text(takt::detail::kMlflow.cursor_file(directory)), cursor));
  CHECK(cursor.first_schema);
}

TEST_CASE("a delivery stopped at any request continues next time with one run and each point once", "[timed]") {
  const auto run = a_run(6, 60);
  const FakeRun live = sent_live(run, true);
  constexpr std::size_t kRequests = 9;
  std::uint64_t were_there = 0;
  for (std::size_t round = 0; round < 2 * kRequests; ++round) {
    const Scratch scratch;
    const std::string directory = directory_with(scratch, run);
    const std::size_t away_from = round % kRequests;
    const bool reply_lost = round >= kRequests;
    std::atomic<bool> back{false};
    FakeMlflow server([&](std::size_t number) {
      if (back || number < away_from) { return Mood::good; }
      return number == away_from && reply_lost ? Mood::deaf_reply : Mood::away;
    });
    // Long enough for the server to end it even on a busy machine, rather than the timeout during a reply.
    const MlflowDelivered first = deliver(directory, options_for(server, true), milliseconds(400));
    INFO("round " << round << ", away from request " << away_from << ", reply lost " << reply_lost);
    CHECK(first.outcome != Outcome::busy);
    back = true;
    const MlflowDelivered second = deliver(directory, options_for(server, true));
    CHECK(second.outcome == Outcome::all);
    were_there += first.was_there + second.was_there;
    CHECK(first.points + first.was_there + second.points + second.was_there == live.points.size());
    REQUIRE(server.runs().size() == 1);
    CHECK(server.run().points == live.points);
    CHECK(server.run().status == "FINISHED");
    CHECK(server.run().sent_twice == 0);
  }
  CHECK(were_there > 0);
}

TEST_CASE("a timeout applies to the whole call, so a silent server delays no further delivery", "[timed]") {
  const Scratch scratch;
  const Scratch other;
  std::promise<void> end;
  const std::shared_future<void> ended = end.get_future().share();
  FakeMlflow server([&](std::size_t) {
    ended.wait();
    return Mood::away;
  });
  const auto timeout = std::make_shared<takt::cli::IdleTimeout>(milliseconds(0));
  takt::detail::SenderTimes times = quick();
  times.total = milliseconds(300);
  const std::string first = directory_with(scratch, a_run(18, 2));
  CHECK(MlflowDelivery(first, options_for(server), timeout, times).run().outcome == Outcome::some);
  times.total = milliseconds(600'000);
  const std::string second = directory_with(other, a_run(19, 2));
  CHECK(MlflowDelivery(second, options_for(server), timeout, times).run().outcome == Outcome::some);
  end.set_value();
}

TEST_CASE("a delivery without time waits for the request in progress", "[timed]") {
  const Scratch scratch;
  const std::string directory = directory_with(scratch, a_run(18, 5));
  std::atomic<bool> looked{false};
  FakeMlflow server([&](std::size_t number) {
    while (number == 0 && !looked) { std::this_thread::yield(); }
    return Mood::good;
  });
  const auto none = std::make_shared<takt::cli::IdleTimeout>(milliseconds(0));
  MlflowDelivery delivery(directory, options_for(server), none, takt::detail::SenderTimes());
  CHECK(delivery.run([&](auto...) { looked = true; }).outcome == Outcome::all);
}

TEST_CASE("the next delivery finds a run whose creation was not answered", "[timed]") {
  const Scratch scratch;
  const std::string directory = directory_with(scratch, a_run(17, 5));
  std::atomic<bool> back{false};
  FakeMlflow server([&](std::size_t number) {
    return back ? Mood::good : number == 0 ? Mood::deaf_reply : Mood::away;
  });
  CHECK(deliver(directory, options_for(server), milliseconds(20)).outcome == Outcome::some);
  REQUIRE(server.runs().size() == 1);
  back = true;
  CHECK(deliver(directory, options_for(server)).outcome == Outcome::all);
  CHECK(server.runs().size() == 1);
}

TEST_CASE("a delivery does not repeat data sent by the program's own exporter", "[timed]") {
  const auto run = a_run(7, 100);
  const FakeRun live = sent_live(run, false);
  const Scratch scratch;
  const std::string directory = directory_with(scratch, run);
  FakeMlflow server;
  {
    takt::MlflowExporter exporter(options_for(server));
    for (std::size_t at = 0; at < 60; ++at) {
      Snapshot snapshot = run[at];
      snapshot.run.directory = directory;
      exporter.export_snapshot(snapshot);
    }
    exporter.flush(milliseconds(60'000));
    CHECK(deliver(directory, options_for(server)).outcome == Outcome::busy);
    exporter.shutdown(milliseconds(60'000));  // returns the lease
  }
  const std::size_t before = server.run().points.size();
  CHECK(before > 50);
  MlflowOptions other = options_for(server, true);  // the options that started the run apply
  other.experiment_id = "7";
  const MlflowDelivered delivered = deliver(directory, other);
  CHECK(delivered.outcome == Outcome::all);
  CHECK(delivered.points == live.points.size() - before);
  CHECK(server.runs().size() == 1);
  CHECK(server.run().points == live.points);
  CHECK(server.run().sent_twice == 0);
}

TEST_CASE("of two programs with one run id the newer owns status, tags and files, and both add points", "[timed]") {
  const support::CaughtErrors errors;
  const auto run = a_run(7, 60, false);  // killed
  const bool is_reported_live = GENERATE(false, true);
  const Scratch scratch;
  const std::string directory = directory_with(scratch, run);
  FakeMlflow server;
  MlflowOptions shared = options_for(server);
  shared.run_id = "shared";
  {
    takt::MlflowExporter older(shared);
    for (std::size_t at = 0; at < 30; ++at) {
      Snapshot snapshot = run[at];
      snapshot.run.directory = directory;
      older.export_snapshot(snapshot);
    }
    older.flush(milliseconds(60'000));
    const std::size_t points_before = server.run().points.size();
    auto newer = a_run(11, 20);
    for (Snapshot& each : newer) {
      each.run.start_unix_ns += 5'000'000'000;
      each.tags = {{"model", "large"}};
    }
    takt::MlflowExporter exporter(shared);
    for (const Snapshot& each : newer) { exporter.export_snapshot(each); }
    REQUIRE(exporter.shutdown(milliseconds(20'000)));
    REQUIRE(server.run().points.size() > points_before);
    if (is_reported_live) {
      Snapshot last = run[30];
      last.run.directory = directory;
      last.finished = last.failed = true;
      older.export_snapshot(last);
    }
    older.shutdown(milliseconds(20'000));
  }
  const FakeRun before = server.run();
  REQUIRE(before.status == "FINISHED");
  REQUIRE(before.tags.at("model") == "large");
  const MlflowDelivered delivered = deliver(directory, options_for(server));
  CHECK(delivered.outcome == Outcome::all);
  CHECK(delivered.points > 0);
  const FakeRun now = server.run();
  CHECK(server.runs().size() == 1);
  CHECK(now.status == "FINISHED");
  CHECK(now.tags == before.tags);
  CHECK(now.files == before.files);
  CHECK(now.points.size() == before.points.size() + delivered.points);
  CHECK(mentions(errors.text(), {"started later", "shared"}));
}

TEST_CASE("a journal without an end, of a dead process, ends as killed with the totals so far", "[timed]") {
  const Scratch scratch;
  const std::string directory = directory_with(scratch, a_run(8, 40, false));
  FakeMlflow server;
  CHECK(deliver(directory, options_for(server)).outcome == Outcome::all);
  CHECK(server.run().status == "KILLED");
  CHECK(server.run().files.count("summary.json") == 1);
  bool totals = false;
  for (const std::string& point : server.run().points) { totals = totals || contains(point, "total/throughput"); }
  CHECK(totals);
}

TEST_CASE("a running run is delivered so far, and its end later", "[timed]") {
  const auto run = a_run(9, 80);
  const FakeRun live = sent_live(run, false);
  const Scratch scratch;
  const std::string directory = scratch.path("rank-0-0-1");
  REQUIRE(::mkdir(directory.c_str(), 0700) == 0);
  takt::detail::JournalExporter journal(directory, plain_journal());
  FakeMlflow server;
  for (std::size_t at = 0; at < run.size(); ++at) {
    Snapshot snapshot = run[at];
    snapshot.run.pid = ::getpid();
    REQUIRE(journal.export_snapshot(snapshot) == takt::ExportResult::ok);
    if (at % 30 == 10) {
      CHECK(deliver(directory, options_for(server)).outcome == Outcome::so_far);
      CHECK(server.run().status == "RUNNING");
    }
  }
  CHECK(deliver(directory, options_for(server)).outcome == Outcome::all);
  CHECK(server.run().points == live.points);
  CHECK(server.run().sent_twice == 0);
  CHECK(server.run().status == "FINISHED");
}

TEST_CASE("data that an exporter dropped during a long outage is delivered later", "[timed]") {
  const support::CaughtErrors errors;
  const auto run = a_run(10, 60);
  const FakeRun live = sent_live(run, true);
  const Scratch scratch;
  const std::string directory = directory_with(scratch, run);
  std::atomic<bool> away{true};
  FakeMlflow server([&](std::size_t) { return away ? Mood::away : Mood::good; });
  {
    MlflowClient client(options_for(server, true), quick(), 100);
    client.keep_cursor(takt::detail::kMlflow.cursor_file(directory));
    for (const Snapshot& each : run) { client.take(each); }
    away = false;
    client.deliver(std::chrono::steady_clock::now() + milliseconds(60'000));
    CHECK(client.queue().lost() > 100);
  }
  CHECK(server.run().points.size() == 100);
  CHECK(deliver(directory, options_for(server)).outcome == Outcome::all);
  CHECK(server.run().points == live.points);
  CHECK(server.run().sent_twice == 0);
}

namespace {

/// A program with a journal and an exporter that keeps few points in memory.
struct Live {
  static constexpr std::size_t kFew = 150;  // points

  explicit Live(FakeMlflow& server, std::string name = "rank-0-0-1") : directory(scratch.path(name)) {
    REQUIRE(::mkdir(directory.c_str(), 0700) == 0);
    journal = std::make_unique<takt::detail::JournalExporter>(directory, plain_journal(20'000));
    client = std::make_unique<MlflowClient>(options_for(server, true), quick(), kFew);
    client->keep_cursor(takt::detail::kMlflow.cursor_file(directory));
    feed = std::make_unique<JournalFeed>(*client, takt::detail::kMlflow, directory);
  }
  /// \param lag of the journal, in periods.
  void period(const Snapshot& snapshot, std::size_t lag = 0) {
    unwritten.push_back(snapshot);
    write(lag);
    feed->take(snapshot);
    max_points = std::max(max_points, client->queue().points());
    const bool ends_before_its_journal = snapshot.finished && lag > 0;  // and would wait for it
    const milliseconds timeout(away || ends_before_its_journal ? 1 : 60'000);
    idle = feed->deliver(std::chrono::steady_clock::now() + timeout);
  }
  void write(std::size_t lag) {
    for (; unwritten.size() > lag; unwritten.erase(unwritten.begin())) {
      REQUIRE(journal->export_snapshot(unwritten.front()) == takt::ExportResult::ok);
    }
  }
  bool end() {
    write(0);
    return feed->deliver(std::chrono::steady_clock::now() + milliseconds(away ? 1 : 60'000));
  }

  const Scratch scratch;
  std::vector<Snapshot> unwritten;
  std::string directory;
  std::unique_ptr<takt::detail::JournalExporter> journal;
  std::unique_ptr<MlflowClient> client;
  std::unique_ptr<JournalFeed> feed;
  std::size_t max_points = 0;
  bool idle = false;
  bool away = false;
};

std::size_t max_points_of(const std::vector<Snapshot>& run) {
  std::size_t max = 0;
  for (const Snapshot& each : run) {
    std::size_t points = each.metrics.size();
    for (const takt::Row& row : each.rows) { points += 2 * row.cells.size() + 3; }
    max = std::max(max, points);
  }
  return max;
}

}  // namespace

TEST_CASE("an outage of any length loses no point of the journal, which the exporter sends afterwards", "[timed]") {
  const support::CaughtErrors errors;
  const std::size_t lag = GENERATE(std::size_t{0}, std::size_t{5});
  const auto run = a_run(10, 150);
  const FakeRun live = sent_live(run, true);
  std::atomic<bool> away{true};
  FakeMlflow server([&](std::size_t) { return away ? Mood::away : Mood::good; });
  Live program(server);
  for (std::size_t at = 0; at < run.size(); ++at) {
    away = program.away = at < 60 || (at > 80 && at < 130);
    program.period(run[at], lag);
    if (at == 59 || at == 129) { CHECK(program.feed->is_behind()); }
  }
  CHECK(program.end());
  CHECK_FALSE(program.feed->is_behind());
  CHECK(program.client->queue().lost() == 0);
  CHECK(program.client->complete());
  const std::size_t points_of_journal = 1000;  // number read at once; this run has only a few such parts
  CHECK(program.max_points <= Live::kFew + max_points_of(run) + points_of_journal);
  CHECK(live.points.size() > 3 * program.max_points);
  CHECK(server.run().points == live.points);
  CHECK(server.run().sent_twice == 0);
  CHECK(server.run().status == "FINISHED");
  CHECK(deliver(program.directory, options_for(server)).points == 0);
}

TEST_CASE("data sent from memory, from the journal, and by takt sync afterwards gives each point once", "[timed]") {
  const support::CaughtErrors errors;
  const auto run = a_run(11, 150);
  const FakeRun live = sent_live(run, true);
  std::atomic<bool> away{false};
  FakeMlflow server([&](std::size_t) { return away ? Mood::away : Mood::good; });
  {
    Live program(server);
    for (std::size_t at = 0; at < run.size(); ++at) {
      away = program.away = (at > 10 && at < 60) || at > 100;
      program.period(run[at]);
    }
    CHECK_FALSE(program.end());
    CHECK(program.feed->is_behind());
    const std::size_t sent = server.run().points.size();
    CHECK(sent > live.points.size() / 4);
    CHECK(server.run().status == "RUNNING");
    program.client.reset();
    away = false;
    const MlflowDelivered rest = deliver(program.directory, options_for(server));
    CHECK(rest.outcome == Outcome::all);
    CHECK(rest.points == live.points.size() - sent);  // recorded = delivered + in the journal
  }
  CHECK(server.run().points == live.points);
  CHECK(server.run().sent_twice == 0);
  CHECK(server.run().status == "FINISHED");
}

TEST_CASE("a stalled journal does not delay new data of the exporter", "[timed]") {
  const support::CaughtErrors errors;
  const auto run = a_run(12, 60);
  std::atomic<bool> away{true};
  FakeMlflow server([&](std::size_t) { return away ? Mood::away : Mood::good; });
  Live program(server);
  for (std::size_t at = 0; at < run.size(); ++at) {
    away = program.away = at < 30;
    if (at < 40) {
      program.period(run[at]);
      continue;
    }
    program.feed->take(run[at]);  // and the disk is full
    program.idle = program.feed->deliver(std::chrono::steady_clock::now() + milliseconds(60'000));
  }
  CHECK(program.end());
  CHECK(program.client->complete());
  const takt::Row& last = run.back().rows.empty() ? run[run.size() - 2].rows.back() : run.back().rows.back();
  CHECK(program.client->next_row() == last.sequence + 1);
  CHECK(server.run().status == "FINISHED");
}

TEST_CASE("a delivery excludes data from before a late exporter was added, whose windows started there", "[timed]") {
  const auto run = a_run(15, 80);
  const std::vector<Snapshot> seen(run.begin() + 20, run.end());
  const FakeRun live = sent_live(seen, false);
  const Scratch scratch;
  const std::string directory = directory_with(scratch, run);
  FakeMlflow server;
  {
    MlflowClient client(options_for(server), quick());
    client.keep_cursor(takt::detail::kMlflow.cursor_file(directory));
    for (std::size_t at = 0; at < 30; ++at) { client.take(seen[at]); }
    client.deliver(std::chrono::steady_clock::now() + milliseconds(60'000));
  }
  CHECK(deliver(directory, options_for(server)).outcome == Outcome::all);
  CHECK(server.run().points == live.points);
  CHECK(server.run().sent_twice == 0);
}

TEST_CASE("an exporter added to a run that takt sync has started leaves the run to it", "[timed]") {
  const support::CaughtErrors errors;
  const auto run = a_run(16, 5);
  const Scratch scratch;
  const std::string directory = directory_with(scratch, run);
  FakeMlflow server;
  REQUIRE(deliver(directory, options_for(server)).outcome == Outcome::all);
  const std::size_t requests = server.requests();
  takt::MlflowExporter exporter(options_for(server));
  Snapshot snapshot = run.back();
  snapshot.run.directory = directory;
  exporter.export_snapshot(snapshot);
  CHECK_FALSE(exporter.shutdown(milliseconds(1000)));
  CHECK(server.requests() == requests);
  CHECK(mentions(errors.text(), {"takt sync"}));
}

TEST_CASE("data on which a server fails stays for the next delivery", "[timed]") {
  const auto run = a_run(18, 40);
  const FakeRun live = sent_live(run, false);
  const std::string over = GENERATE("\"metrics\"", "\"params\"", "runs/update", "table.txt");
  const Scratch scratch;
  const std::string directory = directory_with(scratch, run);
  FakeMlflow server;
  server.fail_over(
      [&](const FakeRequest& request) { return contains(request.body, over) || contains(request.path, over); });
  const MlflowDelivered first = deliver(directory, options_for(server));
  INFO(over);
  CHECK(first.outcome == Outcome::some);
  CHECK(contains(first.why, "takt sync " + directory + " tries again"));
  CHECK(first.left_out == 0);
  CHECK(first.waiting > 0);
  CHECK(first.points == server.run().points.size());
  server.fail_over([](const FakeRequest&) { return false; });
  CHECK(deliver(directory, options_for(server)).outcome == Outcome::all);
  CHECK(server.run().points == live.points);
  CHECK(server.run().params == live.params);
  CHECK(server.run().files == live.files);
  CHECK(server.run().status == "FINISHED");
  CHECK(server.run().sent_twice == 0);
}

TEST_CASE("data that a server refuses for good is excluded and not counted as delivered", "[timed]") {
  const auto run = a_run(23, 20);
  const FakeRun live = sent_live(run, false);
  const Scratch scratch;
  const std::string directory = directory_with(scratch, run);
  FakeMlflow server;
  server.fail_over([](const FakeRequest& request) { return contains(request.body, "total/throughput/steps_per_s"); },
                   400);
  const MlflowDelivered first = deliver(directory, options_for(server));
  CHECK(first.outcome == Outcome::all);
  CHECK(first.left_out == 1);
  CHECK(first.points == live.points.size() - 1);
  CHECK(deliver(directory, options_for(server)).left_out == 1);
  const MlflowDelivered again = deliver(directory, options_for(server));
  CHECK(again.outcome == Outcome::all);
  CHECK(again.points == 0);
}

TEST_CASE("a delivery that cannot write its cursor sends nothing", "[timed]") {
  const Scratch scratch;
  const std::string directory = directory_with(scratch, a_run(19, 5));
  FakeMlflow server;
  const std::string file = takt::detail::kMlflow.cursor_file(directory);
  REQUIRE(::mkdir((file + ".part").c_str(), 0700) == 0);
  CHECK_THROWS_WITH(deliver(directory, options_for(server)), takt_test::containing(file));
  CHECK(server.requests() == 0);
}

TEST_CASE("an exporter that the server refuses leaves the run to takt sync", "[timed]") {
  const support::CaughtErrors errors;
  const auto run = a_run(20, 5);
  const Scratch scratch;
  const std::string directory = directory_with(scratch, run);
  FakeHttp refusing([](const FakeRequest&) {
    FakeAnswer answer;
    answer.status = 401;
    return answer;
  });
  MlflowOptions options;
  options.tracking_uri = refusing.url();
  takt::MlflowExporter exporter(options);
  Snapshot snapshot = run.front();
  snapshot.run.directory = directory;
  exporter.export_snapshot(snapshot);
  exporter.flush(milliseconds(60'000));
  exporter.export_snapshot(snapshot);
  FakeMlflow server;
  CHECK(deliver(directory, options_for(server)).outcome == Outcome::all);
  CHECK_FALSE(exporter.shutdown(milliseconds(1000)));
}

TEST_CASE("a run that has ended on the server was not killed, even if its journal lacks the end", "[timed]") {
  const bool noted = GENERATE(true, false);
  const auto run = a_run(21, 30);
  const Scratch scratch;
  const std::string directory = directory_with(scratch, {run.begin(), run.end() - 1});
  const std::string cursor = takt::detail::kMlflow.cursor_file(directory);
  FakeMlflow server;
  {
    MlflowClient client(options_for(server), quick());
    client.keep_cursor(cursor);
    for (const Snapshot& each : run) { client.take(each); }
    REQUIRE(client.deliver(std::chrono::steady_clock::now() + milliseconds(60'000)));
  }
  if (!noted) {
    std::string text = read_text(cursor);
    text.replace(text.find("FINISHED"), 8, "");
    write_text(cursor, text);
  }
  CHECK(deliver(directory, options_for(server)).outcome == Outcome::all);
  CHECK(server.run().status == "FINISHED");
}

TEST_CASE("a run ended by SIGTERM is sent once as killed, by any sender", "[timed]") {
  auto run = a_run(27, 30);
  run.back().failed = run.back().killed = true;
  const Scratch scratch;
  const std::string directory = directory_with(scratch, run);
  FakeMlflow server;
  const bool live = GENERATE(true, false);
  if (live) {
    MlflowClient client(options_for(server), quick());
    client.keep_cursor(takt::detail::kMlflow.cursor_file(directory));
    for (const Snapshot& each : run) { client.take(each); }
    REQUIRE(client.deliver(std::chrono::steady_clock::now() + milliseconds(60'000)));
  } else {
    CHECK(deliver(directory, options_for(server)).outcome == Outcome::all);
  }
  CHECK(server.run().status == "KILLED");
  const std::size_t requests = server.requests();
  const MlflowDelivered again = deliver(directory, options_for(server));
  CHECK(again.outcome == Outcome::all);
  CHECK(again.points + again.was_there == 0);
  CHECK(server.requests() == requests + 1);  // for the run
  CHECK(server.run().status == "KILLED");
}

TEST_CASE("a run mistaken for killed that continues is sent again with its totals and files", "[timed]") {
  const auto run = a_run(24, 80, true, GENERATE(false, true));
  const FakeRun live = sent_live(run, false);
  const Scratch scratch;
  const std::string directory = scratch.path("rank-0-0-1");
  REQUIRE(::mkdir(directory.c_str(), 0700) == 0);
  takt::detail::JournalExporter journal(directory, plain_journal());
  FakeMlflow server;
  for (std::size_t at = 0; at < run.size(); ++at) {
    REQUIRE(journal.export_snapshot(run[at]) == takt::ExportResult::ok);
    if (at != 40) { continue; }
    REQUIRE(deliver(directory, options_for(server)).outcome == Outcome::all);
    CHECK(server.run().status == "KILLED");
    CHECK(server.run().files.at("summary.json") == 1);
    const std::size_t requests = server.requests();
    CHECK(deliver(directory, options_for(server)).points == 0);  // while unchanged
    CHECK(server.requests() == requests + 1);                    // for the run
  }
  CHECK(deliver(directory, options_for(server)).outcome == Outcome::all);
  const FakeRun both = server.run();
  CHECK(both.status == "FINISHED");
  CHECK(both.files.at("summary.json") == 2);
  CHECK(both.files.at("table.txt") == 2);
  CHECK(both.sent_twice == 0);
  // The additional points followed from the mistaken end.
  CHECK(std::includes(both.points.begin(), both.points.end(), live.points.begin(), live.points.end()));
}

TEST_CASE("the trace in the run directory is attached by any sender", "[timed]") {
  const Scratch scratch;
  const std::string directory = directory_with(scratch, a_run(25, 5));
  write_text(directory + "/trace.json", "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n]}");
  FakeMlflow server;
  CHECK(deliver(directory, options_for(server)).outcome == Outcome::all);
  CHECK(server.run().files.count("trace.json") == 1);
}

TEST_CASE("only a file in the run directory that starts like a trace is attached", "[timed]") {
  const support::CaughtErrors errors;
  const Scratch scratch;
  const std::string directory = directory_with(scratch, a_run(25, 5));
  write_text(scratch.path("secret"), "-----BEGIN OPENSSH PRIVATE KEY-----");
  SECTION("a link") { REQUIRE(::symlink(scratch.path("secret").c_str(), (directory + "/trace.json").c_str()) == 0); }
  SECTION("a secret under that name") {
    REQUIRE(::link(scratch.path("secret").c_str(), (directory + "/trace.json").c_str()) == 0);
  }
  FakeMlflow server;
  CHECK(deliver(directory, options_for(server)).outcome == Outcome::all);
  CHECK(server.run().files.count("trace.json") == 0);
  CHECK(mentions(errors.text(), {"trace.json"}));
}

TEST_CASE("with the cursor of another run nothing is sent", "[timed]") {
  const Scratch scratch;
  const Scratch elsewhere;
  const std::string directory = directory_with(scratch, a_run(25, 5));
  auto run = a_run(26, 5);
  for (Snapshot& each : run) { each.run.id = "another"; }
  const std::string other = directory_with(elsewhere, run);
  FakeMlflow server;
  CHECK(deliver(other, options_for(server)).outcome == Outcome::all);
  const std::string note = read_text(takt::detail::kMlflow.cursor_file(other));
  write_text(takt::detail::kMlflow.cursor_file(directory), note);
  const std::size_t requests = server.requests();
  CHECK_THROWS_WITH(deliver(directory, options_for(server)),
                    takt_test::containing("another") && takt_test::containing("emove"));
  CHECK(server.requests() == requests);
  CHECK(read_text(takt::detail::kMlflow.cursor_file(directory)) == note);
}

TEST_CASE("data after a gap in the journal arrives, whatever was delivered before", "[timed]") {
  const auto run = a_run(22, 80);
  auto gapped = run;
  for (std::size_t at = 20; at < 25; ++at) {
    gapped[at].rows.clear();
    gapped[at].metrics.clear();
  }
  const FakeRun live = sent_live(gapped, true);
  const Scratch scratch;
  const std::string directory = directory_with(scratch, gapped);
  FakeMlflow server;
  {
    MlflowClient client(options_for(server, true), quick());
    client.keep_cursor(takt::detail::kMlflow.cursor_file(directory));
    for (std::size_t at = 0; at < 40; ++at) { client.take(run[at]); }
    client.deliver(std::chrono::steady_clock::now() + milliseconds(60'000));
  }
  CHECK(deliver(directory, options_for(server, true)).outcome == Outcome::all);
  const FakeRun both = server.run();
  CHECK(std::includes(both.points.begin(), both.points.end(), live.points.begin(), live.points.end()));
}

TEST_CASE("files next to the journal contain no credentials and are readable only by the owner", "[timed]") {
  const Scratch scratch;
  const std::string directory = directory_with(scratch, a_run(11, 10));
  FakeMlflow server;
  MlflowOptions options = options_for(server);
  options.tracking_uri.insert(options.tracking_uri.find("//") + 2, "us3r:p4ssword@");
  REQUIRE(deliver(directory, options).outcome == Outcome::all);
  const std::string file = takt::detail::kMlflow.cursor_file(directory);
  const std::string text = read_text(file);
  CHECK(contains(text, "\"run_id\":\"r0\""));
  CHECK_FALSE(contains(text, "us3r"));
  CHECK_FALSE(contains(text, "p4ssword"));
  CHECK_FALSE(contains(text, "s3cr3t"));
  struct stat status = {};
  REQUIRE(::stat(file.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777U) == 0600U);
  CHECK(::access(takt::detail::kMlflow.lease_file(directory).c_str(), F_OK) != 0);
}

TEST_CASE("an unreadable cursor stops a delivery, because guessing would send data twice", "[timed]") {
  const Scratch scratch;
  const std::string directory = directory_with(scratch, a_run(12, 5));
  FakeMlflow server;
  const std::string text =
      GENERATE("", "{}", "{\"schema\":\"takt-mlflow/2\"}", "{\"schema\":\"takt-mlflow/3\"}", "[1,2", "null");
  write_text(takt::detail::kMlflow.cursor_file(directory), text);
  CHECK_THROWS_WITH(deliver(directory, options_for(server)), takt_test::containing("emove"));
  CHECK(server.requests() == 0);
  CHECK(::access(takt::detail::kMlflow.lease_file(directory).c_str(), F_OK) != 0);
}

TEST_CASE("a delivery whose lease is taken over during a request leaves the cursor to the other process", "[timed]") {
  const Scratch scratch;
  const std::string directory = directory_with(scratch, a_run(14, 5));
  const std::string lease = takt::detail::kMlflow.lease_file(directory);
  const std::string cursor = takt::detail::kMlflow.cursor_file(directory);
  FakeMlflow server([&](std::size_t request) {
    if (request == 2) {
      ::unlink(lease.c_str());
      write_text(lease, "elsewhere.invalid 1\n");
      write_text(cursor, "theirs");
    }
    return FakeMlflow::Mood::good;
  });
  const takt::cli::MlflowDelivered delivered = deliver(directory, options_for(server));
  CHECK(delivered.outcome == Outcome::some);
  CHECK(contains(delivered.why, "another process took over the lease"));
  CHECK(read_text(cursor) == "theirs");
  CHECK(read_text(lease) == "elsewhere.invalid 1\n");
}

TEST_CASE("a lease holds while its process sends heartbeats", "[timed]") {
  const Scratch scratch;
  const std::string directory = directory_with(scratch, a_run(13, 5));
  const std::string file = takt::detail::kMlflow.lease_file(directory);
  FakeMlflow server;
  struct Case {
    std::string text;
    long age_s;
    bool free;
  };
  const std::vector<Case> cases = {
      {this_host() + " " + std::to_string(::getpid()) + "\n", 0, false},
      {this_host() + " " + std::to_string(kNobody) + "\n", 0, true},
      {this_host() + " " + std::to_string(kNobody) + " " + std::to_string(takt::detail::pid_namespace().value()) + "\n",
       0, true},
      {this_host() + " " + std::to_string(kNobody) + " 1\n", 60, false},  // in a container with its own process ids
      {this_host() + " " + std::to_string(kNobody) + " 1\n", 600, true},
      {"elsewhere.invalid 1\n", 60, false},
      {"elsewhere.invalid 1\n", 600, true},
      {"", 0, false},
      {"", 60, true},  // killed before it had written its name
  };
  for (const Case& each : cases) {
    INFO(each.text << each.age_s);
    write_text(file, each.text);
    timespec times[2] = {};
    ::clock_gettime(CLOCK_REALTIME, &times[0]);
    times[0].tv_sec -= each.age_s;
    times[1] = times[0];
    REQUIRE(::utimensat(AT_FDCWD, file.c_str(), times, 0) == 0);
    const MlflowDelivered delivered = deliver(directory, options_for(server));
    CHECK(delivered.outcome == (each.free ? Outcome::all : Outcome::busy));
    CHECK((::access(file.c_str(), F_OK) != 0) == each.free);
  }
}

TEST_CASE("only rank 0 of a run with ranks delivers, unless all are to", "[timed]") {
  auto run = a_run(14, 5);
  for (Snapshot& each : run) { each.run.rank = 3; }
  const Scratch scratch;
  const std::string directory = directory_with(scratch, run);
  FakeMlflow server;
  CHECK(deliver(directory, options_for(server)).outcome == Outcome::not_sent);
  CHECK(server.requests() == 0);
  MlflowOptions all = options_for(server);
  all.all_ranks = true;
  CHECK(deliver(directory, all).outcome == Outcome::all);
}

TEST_CASE("settled numbers can be cut off at a number") {
  for (const std::uint64_t cut : {0U, 3U, 5U, 7U, 10U, 12U, 20U}) {
    takt::detail::MlflowSettled settled;
    settled.add(0, 5);
    settled.add(10, 15);
    settled.cut(cut);
    for (std::uint64_t number = 0; number < 20; ++number) {
      const bool was = number < 5 || (number >= 10 && number < 15);
      CHECK(settled.has(number) == (was && number < cut));
    }
  }
}

TEST_CASE("settled numbers are a set") {
  Random random(1);
  takt::detail::MlflowSettled settled;
  std::set<std::uint64_t> oracle;
  for (int round = 0; round < 3000; ++round) {
    const std::uint64_t first = random.below(500);
    const std::uint64_t end = first + random.below(4);
    settled.add(first, end);
    for (std::uint64_t number = first; number < end; ++number) { oracle.insert(number); }
    const std::uint64_t asked = random.below(510);
    REQUIRE(settled.has(asked) == (oracle.count(asked) == 1));
    REQUIRE(settled.count() == oracle.size());
  }
  std::uint64_t before = 0;
  for (const auto& [first, end] : settled.ranges()) {
    CHECK((first > before || before == 0));
    CHECK(first < end);
    before = end;
  }
}

TEST_CASE("takt sync reports data missing from the journal due to a full disk, like all other losses") {
  auto run = a_run(5, 10);
  const bool lost = GENERATE(true, false);
  for (Snapshot& each : run) { each.losses.clear(); }
  if (lost) { run.back().losses = {{"not_exported", "journal", 17}, {"not_exported", "mlflow", 5}}; }
  const Scratch scratch;
  const std::string directory = directory_with(scratch, run);
  CHECK(takt::cli::report_lost(directory, "run: ") == lost);
  CHECK(takt::cli::report_lost(directory, "run: ") == lost);
  CHECK_FALSE(takt::detail::lost_records(run.back().losses).any());
  if (lost) { CHECK(takt::detail::lost_before_journal(run.back().losses).words() == "17 steps or metrics"); }
}
