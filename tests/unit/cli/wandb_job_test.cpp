// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/wandb_destination.hpp"

#include <takt/exporters/wandb.hpp>

#include "findings/findings.hpp"
#include "findings/step_history.hpp"
#include "support/catch.hpp"
#include "support/caught_errors.hpp"
#include "support/fake_wandb.hpp"
#include "support/mentions.hpp"
#include "support/rank_directories.hpp"
#include "support/sample_job.hpp"
#include "support/wandb_reader.hpp"
#include "wandb/wandb_directory.hpp"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

using namespace takt_test;
using std::chrono::milliseconds;
using takt::Snapshot;
using takt::WandbMode;
using takt::WandbOptions;
using takt::cli::Outcome;
using takt::cli::WandbDelivered;
using takt::cli::WandbDelivery;

namespace {

const char* const kMax = "total/ranks/time/Batch/Backward/max_s";

/// Four ranks, and the data that rank 0 writes for W&B.
struct WandbJobRig {
  explicit WandbJobRig(int ranks = 4) : directories(4, ranks) {
    options.directory = directories.scratch().path("");
    options.silent = true;
    options.mode = WandbMode::offline;
  }

  void use(const FakeWandb& server) {
    options.mode = WandbMode::online;
    options.base_url = server.http.url();
    options.api_key = std::string(40, 'k');
  }
  /// Ends rank 0 as the program's own exporter does. \param job from takt::mpi::reduce(), or none.
  bool end_live(std::shared_ptr<const takt::Job> job) {
    takt::WandbExporter exporter(options);
    Snapshot snapshot = snapshot_of_rank(0, 4);
    snapshot.run.directory = directories.directory(0);
    snapshot.job = std::move(job);
    takt::StepHistory history;
    history.add(snapshot);
    takt::detail::conclude(snapshot, std::make_shared<const takt::StepHistory>(history.finished()));
    exporter.export_snapshot(snapshot);
    return exporter.shutdown(milliseconds(20'000));
  }
  WandbDelivered sync() {
    takt::detail::WandbTimes times;
    times.tries.first_wait = milliseconds(1);
    times.tries.longest_wait = milliseconds(4);
    return WandbDelivery(directories.directory(0), options,
                         std::make_shared<takt::cli::IdleTimeout>(milliseconds(60'000)), times)
        .run();
  }
  std::string log_file() const {
    std::vector<std::string> found;
    for (const auto& each : std::filesystem::recursive_directory_iterator(directories.scratch().path("wandb"))) {
      if (each.path().extension() == ".wandb") { found.push_back(each.path()); }
    }
    REQUIRE(found.size() == 1);
    return found[0];
  }

  RankDirectories directories;
  WandbOptions options;
};

/// Contents of a log; checks that records and rows are numbered consecutively.
struct WandbJobLog {
  explicit WandbJobLog(const std::string& file) {
    std::int64_t number = 0;
    for (const std::string& bytes : wandb_log_records(read_text(file))) {
      const WandbMessage record(bytes);
      CHECK(record.numbers.at(1) == ++number);
      CHECK(exits == 0);  // the exit is last
      exits += record.has(18) ? 1 : 0;
      files += record.has(6) ? 1 : 0;
      if (record.has(3)) {
        for (const auto& [name, json] : record.message(3).items()) { summary[name] = json; }
      }
      if (!record.has(2)) { continue; }
      const auto items = record.message(2).items();
      CHECK(items.at("_step") == std::to_string(rows++));
      for (const auto& [name, json] : items) { values[name].push_back(json); }
    }
  }

  int exits = 0;
  int files = 0;
  int rows = 0;
  std::map<std::string, std::vector<std::string>> values;  // of rows
  std::map<std::string, std::string> summary;
};

using Values = std::vector<std::string>;

}  // namespace

TEST_CASE("W&B over ranks: takt sync writes the statistics over ranks once") {
  WandbJobRig rig;
  CHECK(rig.sync().outcome == Outcome::written);
  const WandbJobLog log(rig.log_file());
  CHECK(log.values.at(kMax) == Values{"13.0"});
  CHECK(log.values.at("total/ranks/time/Batch/ns::f<int>/ranks") == Values{"4.0"});
  CHECK(log.summary.at("total/ranks/time/Batch/Backward/slowest_rank") == "3.0");
  CHECK(mentions(log.summary.at("takt/ranks"), {"4 of 4", "10", "30"}));  // steps, and number that a comparison needs
  CHECK(log.summary.count("total/wall_s") == 1);
  CHECK(log.exits == 1);
  const std::string before = read_text(rig.log_file());
  CHECK(rig.sync().outcome == Outcome::written);
  CHECK(read_text(rig.log_file()) == before);
}

TEST_CASE("W&B over ranks: takt sync does not repeat what rank 0 has written for all ranks") {
  WandbJobRig rig;
  CHECK(rig.end_live(shared_job(4)));
  const WandbJobLog log(rig.log_file());
  CHECK(log.values.at("total/ranks/time/Batch/Forward/max_s") == Values{"10.0"});
  CHECK(log.summary.at("takt/ranks") == R"("4 of 4")");
  const std::string before = read_text(rig.log_file());
  const WandbDelivered delivered = rig.sync();
  CHECK(delivered.outcome == Outcome::written);
  CHECK(delivered.warning.empty());
  CHECK(read_text(rig.log_file()) == before);
}

TEST_CASE("W&B over ranks: a log that has its end gets them before the end") {
  const support::CaughtErrors errors;
  WandbJobRig rig;
  const bool fewer = GENERATE(false, true);
  CHECK(rig.end_live(fewer ? shared_job(3, {3}) : nullptr));
  const WandbJobLog before(rig.log_file());
  CHECK(before.values.count(kMax) == 0);
  CHECK(rig.sync().outcome == Outcome::written);
  const WandbJobLog log(rig.log_file());
  CHECK(log.exits == 1);
  CHECK(log.rows == before.rows + 1);
  CHECK(log.files == before.files);
  CHECK(log.files == 2);
  CHECK(errors.text().empty());
  CHECK(log.values.at(kMax) == Values{"13.0"});
  CHECK(log.values.at("total/job/world_size").size() == (fewer ? 2 : 1));
  CHECK(log.summary.at("total/ranks/time/Batch/ranks") == "4.0");
  CHECK(mentions(log.summary.at("takt/ranks"), {"4 of 4", "10", "30"}));  // steps, and number that a comparison needs
  CHECK(log.summary.at("takt/findings") == before.summary.at("takt/findings"));
  for (const auto& [name, json] : before.summary) {
    INFO(name);
    CHECK(log.summary.count(name) == 1);
  }
  for (const auto& [name, values] : before.values) {
    if (name.find("total/job/") != 0 && name[0] != '_' && name.find("takt/") != 0 && name.find("total/ranks") != 0) {
      CHECK(log.values.at(name) == values);
    }
  }
  const std::string whole = read_text(rig.log_file());
  CHECK(rig.sync().outcome == Outcome::written);
  CHECK(read_text(rig.log_file()) == whole);
}

TEST_CASE("W&B over ranks: continues after a kill before the new end is written") {
  WandbJobRig rig;
  CHECK(rig.end_live(nullptr));
  takt::detail::WandbCursor cursor;
  const std::string file = takt::detail::kWandb.cursor_file(rig.directories.directory(0));
  {
    // The state in which the cursor says that the end is removed, but the log still has it.
    WandbJobRig other;
    takt::detail::WandbRun run(other.options);
    run.keep_cursor(file);
    REQUIRE(takt::detail::parse_wandb_cursor(read_text(file), cursor));
    const std::string log = read_text(rig.log_file());
    run.resume(cursor, snapshot_of_rank(0, 4).run, true);
    CHECK(read_text(rig.log_file()).size() < log.size());
    write_text(rig.log_file(), log);
  }
  REQUIRE(takt::detail::parse_wandb_cursor(read_text(file), cursor));
  CHECK_FALSE(cursor.ended);
  CHECK(rig.sync().outcome == Outcome::written);
  const WandbJobLog log(rig.log_file());
  CHECK(log.exits == 1);
  CHECK(log.values.at(kMax) == Values{"13.0"});
  CHECK(log.summary.count("total/wall_s") == 1);
}

TEST_CASE("W&B over ranks: a last snapshot shown twice has its figures in the log once") {
  WandbJobRig rig;
  takt::detail::WandbRun run(rig.options);
  Snapshot snapshot = snapshot_of_rank(0, 4);
  for (const std::uint32_t ranks : {3U, 3U, 2U}) {
    snapshot.job = shared_job(ranks);
    CHECK(run.take(snapshot));
    CHECK(run.take_job(snapshot));
  }
  CHECK(WandbJobLog(rig.log_file()).values.at("total/job/world_size") == Values{"3.0"});
}

TEST_CASE("W&B over ranks: a log uploaded by wandb sync is unchanged") {
  WandbJobRig rig;
  CHECK(rig.end_live(nullptr));
  const std::string before = read_text(rig.log_file());
  write_text(rig.log_file() + ".synced", "");
  const WandbDelivered delivered = rig.sync();
  CHECK(delivered.outcome == Outcome::all);
  CHECK(mentions(delivered.warning, {"wandb sync"}));
  CHECK(read_text(rig.log_file()) == before);
  CHECK(exists(rig.log_file() + ".synced"));
}

TEST_CASE("W&B over ranks: adds them to a completely uploaded run if a key exists", "[timed]") {
  WandbJobRig rig;
  FakeWandb server;
  rig.use(server);
  CHECK(rig.end_live(nullptr));
  const std::vector<std::string> before = server.history();
  const std::string whole = read_text(rig.log_file());
  const std::string key = std::exchange(rig.options.api_key, "");
  const WandbDelivered without = rig.sync();
  CHECK(without.outcome == Outcome::all);
  CHECK(contains(without.warning, "with a key"));
  CHECK(read_text(rig.log_file()) == whole);
  rig.options.api_key = key;
  CHECK(rig.sync().outcome == Outcome::all);
  const std::vector<std::string> after = server.history();
  REQUIRE(after.size() == before.size() + 1);
  CHECK(std::equal(before.begin(), before.end(), after.begin()));
  CHECK(contains(after.back(), R"("total/ranks/time/Batch/Backward/max_s":13.0)"));
  CHECK(exists(rig.log_file() + ".synced"));
  const std::vector<FakeRequest> streams = server.of_kind("stream");
  CHECK(contains(streams.back().body, R"("complete":true)"));
  const std::size_t requests = server.http.requests().size();
  CHECK(rig.sync().outcome == Outcome::all);
  CHECK(server.http.requests().size() == requests + 1);  // the query for the run
}

TEST_CASE("W&B over ranks: while a rank still runs takt sync writes no end and is not done") {
  WandbJobRig rig(3);
  rig.directories.add(3, RankState::runs);
  const bool by_rank_0 = GENERATE(false, true);  // it has written its own end
  if (by_rank_0) { CHECK(rig.end_live(nullptr)); }
  const WandbDelivered first = rig.sync();
  CHECK(first.outcome == Outcome::so_far);
  CHECK(contains(first.warning, "ranks: 3"));
  CHECK(WandbJobLog(rig.log_file()).exits == (by_rank_0 ? 1 : 0));
  rig.directories.add(3);
  CHECK(rig.sync().outcome == Outcome::written);
  const WandbJobLog log(rig.log_file());
  CHECK(log.exits == 1);
  CHECK(log.values.at(kMax) == Values{"13.0"});
}

TEST_CASE("W&B over ranks: continues with a cursor of a version without them") {
  WandbJobRig rig;
  REQUIRE(rig.sync().outcome == Outcome::written);
  const std::string file = takt::detail::kWandb.cursor_file(rig.directories.directory(0));
  nlohmann::ordered_json cursor = nlohmann::ordered_json::parse(read_text(file));
  REQUIRE(cursor["job_ranks"] == 4);
  cursor.erase("job_ranks");
  write_text(file, cursor.dump());
  CHECK(rig.sync().outcome == Outcome::written);
  CHECK(WandbJobLog(rig.log_file()).values.at(kMax) == Values{"13.0", "13.0"});
}
