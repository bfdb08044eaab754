// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/exporters/prometheus.hpp>

#include "base/directory_files.hpp"
#include "prometheus/prometheus_text.hpp"

#include "support/catch.hpp"
#include "support/caught_errors.hpp"
#include "support/mentions.hpp"
#include "support/scratch.hpp"
#include "support/snapshot_builder.hpp"

#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

using namespace takt::detail;
using namespace takt_test;
using takt::ExportResult;
using takt::Kind;
using takt::PrometheusExporter;
using takt::PrometheusOptions;
using takt::Snapshot;

namespace {

constexpr std::chrono::milliseconds kNoTime(0);
constexpr std::int64_t kNow = 1'800'000'000'000'000'000;
constexpr const char* kFile = "takt-job-7-3.prom";
constexpr const char* kLabels = "run=\"job-7\",rank=\"3\",host=\"node1\"";

/// A run of rank 3 with Epoch/Batch/{Forward, IO}, Epoch/Checkpoint and Load.
Snapshot a_run() {
  Snapshot snapshot;
  snapshot.run.id = "job-7";
  snapshot.run.rank = 3;
  snapshot.run.host = "node1";
  snapshot.run.start_unix_ns = kNow - 20'000'000'000;
  snapshot.wall_ns = 20'000'000'000;
  const auto epoch = add_path(snapshot, "Epoch");
  const auto batch = add_path(snapshot, "Batch", epoch);
  add_path(snapshot, "Forward", batch, Kind::compute);
  add_path(snapshot, "IO", batch, Kind::io);
  add_path(snapshot, "Checkpoint", epoch, Kind::io);
  add_path(snapshot, "Load", takt::kNoIndex, Kind::io);
  snapshot.series.emplace_back();
  snapshot.series[0].path = batch;
  return snapshot;
}

void add_step(Snapshot& snapshot, std::int64_t ns) {
  takt::Row row;
  row.sequence = row.step = static_cast<std::int64_t>(snapshot.series[0].steps++);
  row.begin_ns = 1'000'000'000 + 2 * row.step * ns;
  row.host_ns = ns;
  if (row.step != 0) { row.period_ns = 2 * ns; }
  snapshot.rows.push_back(row);
  snapshot.paths[1].host.add(static_cast<std::uint64_t>(ns));
  snapshot.paths[1].items += 32;
}

/// Returns the value of each series, by name and labels without the common ones. Requires that each is there once, and
/// that each family has one HELP and one TYPE before its series.
std::map<std::string, std::string> series_of(const std::string& text, const std::string& common = kLabels) {
  std::map<std::string, std::string> found;
  std::set<std::string> families;
  std::istringstream lines(text);
  std::string line;
  std::string family;
  while (std::getline(lines, line)) {
    if (line.compare(0, 7, "# HELP ") == 0) {
      family = line.substr(7, line.find(' ', 7) - 7);
      CHECK(families.insert(family).second);
      REQUIRE(std::getline(lines, line));
      REQUIRE(line.compare(0, 8 + family.size(), "# TYPE " + family + " ") == 0);
      continue;
    }
    CHECK(line.compare(0, family.size(), family) == 0);
    const std::size_t at = line.find("{" + common);
    const std::size_t end = line.rfind("} ");
    REQUIRE((at != std::string::npos && end != std::string::npos));
    std::string labels = line.substr(at + 1 + common.size(), end - at - 1 - common.size());
    if (!labels.empty()) { labels = "{" + labels.substr(1) + "}"; }
    CHECK(found.emplace(line.substr(0, at) + labels, line.substr(end + 2)).second);
  }
  return found;
}

double value_of(const std::map<std::string, std::string>& series, const std::string& name) {
  const auto found = series.find(name);
  INFO(name);
  REQUIRE(found != series.end());
  return std::stod(found->second);
}

PrometheusExporter exporter_to(const std::string& directory) {
  PrometheusOptions options;
  options.directory = directory;
  return PrometheusExporter(options);
}

void make_old(const std::string& path, std::chrono::seconds age) {
  std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() - age);
}

}  // namespace

TEST_CASE("Prometheus: values of labels are escaped and valid UTF-8") {
  CHECK(prometheus_label("a\"b\\c\nd\te") == "a\\\"b\\\\c\\nd\te");
  CHECK(prometheus_label("\xC3\xA9") == "\xC3\xA9");
  CHECK(prometheus_label("\xFF!") == "\xEF\xBF\xBD!");
  CHECK(prometheus_label("") == "");
}

TEST_CASE("Prometheus: numbers of any size are valid") {
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(prometheus_number(std::nan("")) == "NaN");
  CHECK(prometheus_number(infinity) == "+Inf");
  CHECK(prometheus_number(-infinity) == "-Inf");
  for (const double each : {0.1, 1e308, 5e-324, 0.0, -3.0, 9'223'372'036.854775807}) {
    CHECK(std::strtod(prometheus_number(each).c_str(), nullptr) == each);
  }
}

TEST_CASE("Prometheus: tags become different labels of valid names") {
  using Tags = std::map<std::string, std::string>;
  CHECK(prometheus_tags({{"team", "x"}, {"9 lives", "y"}}) == Tags{{"tag_team", "x"}, {"tag_9_lives", "y"}});
  Tags tags;
  for (const char* const each : {"a-b", "a.b", "a_b", "", "\xC3\xA4", "\xC3\xB6", "run", "le", "__name__"}) {
    tags[each] = each;
  }
  const std::string common(100, 'x');
  tags[common + "1"] = tags[common + "2"] = "long";
  const Tags labels = prometheus_tags(tags);
  CHECK(labels.size() == tags.size());
  for (const auto& [label, value] : labels) {
    CHECK(label.compare(0, 4, "tag_") == 0);
    CHECK(label.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos);
    CHECK(label.size() <= 77);
  }
}

TEST_CASE("Prometheus: steps, samples, regions and state of a run") {
  Snapshot snapshot = a_run();
  for (int step = 0; step < 11; ++step) { add_step(snapshot, step < 10 ? 150'000'000 : 700'000'000); }
  snapshot.paths[1].host.add_warmup(5'000'000'000);
  snapshot.paths[2].host.add(3'000'000'000);
  snapshot.paths[2].self_ns = 2'000'000'000;
  snapshot.paths[3].host.add(1'000'000'000);
  snapshot.paths[3].self_ns = 1'000'000'000;
  snapshot.paths[4].host.add(4'000'000'000);
  snapshot.paths[4].self_ns = 4'000'000'000;
  snapshot.overhead_ns = 1'000'000;
  snapshot.losses = {{"rows_dropped", "main", 3}, {"never_ended", "IO", 1}, {"rows_dropped", "loader", 2}};
  PrometheusText text;
  const auto series = series_of(text.take(snapshot, kNow));
  const auto value = [&](const std::string& name) { return value_of(series, name); };

  CHECK(text.series() == series.size());
  CHECK(value("takt_step_seconds_count") == 11);  // without the warm-up
  CHECK(value("takt_step_seconds_sum") == Approx(2.2));
  CHECK(value("takt_step_seconds_bucket{le=\"0.1\"}") == 0);
  CHECK(value("takt_step_seconds_bucket{le=\"0.2\"}") == 10);
  CHECK(value("takt_step_seconds_bucket{le=\"0.5\"}") == 10);
  CHECK(series.count("takt_step_seconds_bucket{le=\"0.0001\"}") == 1);
  CHECK(series.count("takt_step_seconds_bucket{le=\"1000.0\"}") +
            series.count("takt_step_seconds_bucket{le=\"1000\"}") ==
        1);
  CHECK(value("takt_step_seconds_bucket{le=\"+Inf\"}") == 11);
  CHECK(value("takt_steps_total") == 11);
  CHECK(value("takt_samples_total") == 11 * 32);
  CHECK(value("takt_step_median_seconds") == Approx(0.3).epsilon(0.01));
  CHECK(value("takt_last_step") == 10);
  // It ended 1 + 20 * 0.7 + 0.7 s after the start.
  CHECK(value("takt_last_step_timestamp_seconds") == Approx(1'800'000'000 - 20 + 15.7).margin(1e-3).epsilon(0));
  CHECK(value("takt_start_timestamp_seconds") == 1'800'000'000 - 20);
  CHECK(value("takt_update_timestamp_seconds") == 1'800'000'000);
  CHECK(value("takt_overhead_seconds") == 0.001);
  CHECK(value("takt_losses_total{what=\"rows_dropped\"}") == 5);
  CHECK(value("takt_losses_total{what=\"never_ended\"}") == 1);
  CHECK(value("takt_kind_seconds_total{kind=\"compute\"}") == 2);
  CHECK(value("takt_kind_seconds_total{kind=\"io\"}") == 5);
  CHECK(value("takt_kind_seconds_total{kind=\"comm\"}") == 0);
  CHECK(value("takt_region_seconds_total{region=\"Epoch/Batch/Forward\",kind=\"compute\"}") == 3);
  CHECK(value("takt_region_seconds_total{region=\"Epoch/Checkpoint\",kind=\"io\"}") == 4);
  CHECK(value("takt_region_seconds_total{region=\"Load\",kind=\"io\"}") == 0);
  CHECK(value("takt_region_share{region=\"Epoch/Batch/IO\",kind=\"io\"}") == 0.05);
  CHECK(series.count("takt_region_share{region=\"Epoch\",kind=\"other\"}") == 0);
  CHECK(value("takt_run_state{state=\"running\"}") == 1);
  CHECK(value("takt_run_state{state=\"finished\"}") == 0);
  CHECK(series.count("takt_expiry_timestamp_seconds") == 0);

  snapshot.finished = true;
  snapshot.rows.clear();
  const auto last = series_of(text.take(snapshot, kNow));
  CHECK(value_of(last, "takt_run_state{state=\"running\"}") == 0);
  CHECK(value_of(last, "takt_run_state{state=\"finished\"}") == 1);
  CHECK(value_of(last, "takt_expiry_timestamp_seconds") == 1'800'000'000 + 600);
  CHECK(value_of(last, "takt_last_step") == 10);
  CHECK(value_of(last, "takt_step_median_seconds") == Approx(0.3).epsilon(0.01));
  snapshot.failed = true;
  CHECK(value_of(series_of(text.take(snapshot, kNow)), "takt_run_state{state=\"failed\"}") == 1);
}

TEST_CASE("Prometheus: a step that waits for its device values is the last step, too") {
  Snapshot snapshot = a_run();
  add_step(snapshot, 100'000'000);
  snapshot.early.push_back(snapshot.rows[0]);
  snapshot.early[0].step = 1;
  snapshot.early[0].begin_ns += 500'000'000;
  PrometheusText text;
  const auto series = series_of(text.take(snapshot, kNow));
  CHECK(value_of(series, "takt_last_step") == 1);
  CHECK(value_of(series, "takt_step_median_seconds") == Approx(0.1).epsilon(0.01));  // no period yet: the duration
}

TEST_CASE("Prometheus: any names and values give valid, different series") {
  Snapshot snapshot = a_run();
  snapshot.run.host = "a\"b\\c\nd\xFF";
  snapshot.tags["quo\"te"] = "x\"\n\\";
  snapshot.tags["long"] = std::string(300, 'y');
  snapshot.paths[2].name = "\xFE";
  add_path(snapshot, "\xFF", 1, Kind::compute);  // the same after the repair
  snapshot.paths[4].name = "}\n\" 1\n";
  snapshot.paths[1].host.add_warmup(~std::uint64_t{0});
  snapshot.paths[1].host.add(~std::uint64_t{0});
  snapshot.paths[1].items = ~std::uint64_t{0};
  snapshot.wall_ns = std::numeric_limits<std::int64_t>::max();
  snapshot.overhead_ns = -1;
  const std::string common = "run=\"job-7\",rank=\"3\",host=\"a\\\"b\\\\c\\nd\xEF\xBF\xBD\",tag_long=\"" +
                             std::string(200, 'y') + "\",tag_quo_te=\"x\\\"\\n\\\\\"";
  PrometheusText text;
  const auto series = series_of(text.take(snapshot, kNow), common);
  CHECK(series.count("takt_region_share{region=\"Epoch/}\\n\\\" 1\\n\",kind=\"io\"}") == 1);
  CHECK(value_of(series, "takt_samples_total") == Approx(9.223372036854775807e18));
  CHECK(value_of(series, "takt_step_seconds_bucket{le=\"+Inf\"}") == 1);
  snapshot.wall_ns = 0;
  CHECK(value_of(series_of(text.take(snapshot, kNow), common), "takt_region_share{region=\"Load\",kind=\"io\"}") == 0);
}

TEST_CASE("Prometheus: at most 200 series, and the first ones stay") {
  const Scratch scratch;
  const support::CaughtErrors errors;
  PrometheusExporter exporter = exporter_to(scratch.path(""));
  Snapshot snapshot = a_run();
  snapshot.finished = true;  // the text with the most series
  add_step(snapshot, 1'000'000);
  for (std::size_t region = 4; region < kMaxPrometheusRegions; ++region) {
    add_path(snapshot, "r" + std::to_string(region));
  }
  for (std::size_t loss = 0; loss < kMaxPrometheusLosses; ++loss) {
    snapshot.losses.push_back({"l" + std::to_string(loss), "", 1});
  }
  for (std::size_t tag = 0; tag < kMaxPrometheusTags; ++tag) { snapshot.tags["t" + std::to_string(tag + 10)] = "x"; }
  PrometheusText text;
  text.take(snapshot, kNow);
  CHECK(text.left_out() == 0);
  CHECK(text.series() <= kMaxPrometheusSeries);
  CHECK(text.series() == 193);
  exporter.begin(snapshot);
  CHECK(exporter.export_snapshot(snapshot) == ExportResult::ok);
  CHECK(errors.lines().empty());

  const auto before = read_text(scratch.path(kFile));
  add_path(snapshot, "one more");
  snapshot.losses.push_back({"one more", "", 1});
  snapshot.tags["z"] = "one more";
  for (int time = 0; time < 2; ++time) { CHECK(exporter.export_snapshot(snapshot) == ExportResult::ok); }
  CHECK(errors.lines().size() == 1);
  CHECK(mentions(errors.text(), {"200", "60", "16", "30", "takt_left_out"}));
  const std::string after = read_text(scratch.path(kFile));
  CHECK(!contains(after, "one more"));
  CHECK(contains(after, "} 3.0\n") != contains(after, "} 3\n"));  // takt_left_out
  text.take(snapshot, kNow);
  CHECK(text.left_out() == 3);
  CHECK(text.series() == 193);
  CHECK(contains(before, "region=\"r59\""));
  CHECK(contains(after, "region=\"r59\""));
}

TEST_CASE("Prometheus: one whole file per rank, readable by all, which a restart replaces") {
  const Scratch scratch;
  Snapshot snapshot = a_run();
  for (int attempt = 0; attempt < 2; ++attempt) {
    PrometheusExporter exporter = exporter_to(scratch.path(""));
    exporter.begin(snapshot);
    CHECK(exporter.flush(kNoTime));
    add_step(snapshot, 1'000'000);
    CHECK(exporter.export_snapshot(snapshot) == ExportResult::ok);
    const auto names = DirectoryFiles(scratch.path("")).names();
    CHECK(names == std::vector<std::string>{kFile});
    CHECK(mode_of(scratch.path(kFile)) == 0644);
    snapshot.run.attempt = 1;
    if (attempt == 0) { continue; }  // killed
    snapshot.finished = true;
    CHECK(exporter.export_snapshot(snapshot) == ExportResult::ok);
    CHECK(exporter.shutdown(kNoTime));
    CHECK(contains(read_text(scratch.path(kFile)), "takt_expiry_timestamp_seconds{"));
  }
  CHECK(series_of(read_text(scratch.path(kFile))).size() > 40);
}

TEST_CASE("Prometheus: without a directory, and in a forked child, nothing is written") {
  const Scratch scratch;
  const Snapshot snapshot = a_run();
  PrometheusExporter off = exporter_to("");
  off.begin(snapshot);
  CHECK(off.export_snapshot(snapshot) == ExportResult::ok);
  CHECK(off.shutdown(kNoTime));
  PrometheusExporter exporter = exporter_to(scratch.path(""));
  CHECK(in_child([&] {
          exporter.begin(snapshot);
          exporter.export_snapshot(snapshot);
          return exists(scratch.path(kFile)) ? 1 : 0;
        }) == 0);
}

TEST_CASE("Prometheus: the next run removes Takt's files of more than ten minutes ago") {
  const Scratch scratch;
  const auto name_and_age = std::vector<std::pair<std::string, int>>{{"takt-old-0.prom", 601},
                                                                     {"takt-old-1.prom.77.part", 601},
                                                                     {"takt-new-0.prom", 590},
                                                                     {"other.prom", 9'999},
                                                                     {"takt-notes.txt", 9'999}};
  for (const auto& [name, age] : name_and_age) {
    write_text(scratch.path(name), "");
    make_old(scratch.path(name), std::chrono::seconds(age));
  }
  std::filesystem::create_directory(scratch.path("takt-directory.prom"));
  make_old(scratch.path("takt-directory.prom"), std::chrono::seconds(9'999));
  exporter_to(scratch.path("")).begin(a_run());
  for (const auto& [name, age] : name_and_age) {
    INFO(name);
    CHECK(exists(scratch.path(name)) == !contains(name, "old"));
  }
  CHECK(exists(scratch.path("takt-directory.prom")));
}

TEST_CASE("Prometheus: a missing directory is reported once, and used when it is there") {
  const Scratch scratch;
  const support::CaughtErrors errors;
  const std::string directory = scratch.path("later");
  PrometheusExporter exporter = exporter_to(directory);
  const Snapshot snapshot = a_run();
  exporter.begin(snapshot);
  CHECK(errors.lines().size() == 1);
  forget_errors();  // as five minutes later
  for (int period = 0; period < 3; ++period) { CHECK(exporter.export_snapshot(snapshot) == ExportResult::ok); }
  CHECK(!exporter.flush(kNoTime));
  CHECK(errors.lines().size() == 1);
  CHECK(mentions(errors.text(), {directory, "No such file", "create the directory", "TAKT_PROMETHEUS_DIR"}));
  for (int time = 0; time < 2; ++time) {  // it may be removed and made again
    std::filesystem::create_directory(directory);
    CHECK(exporter.export_snapshot(snapshot) == ExportResult::ok);
    CHECK(exists(directory + "/" + kFile));
    CHECK(exporter.flush(kNoTime));
    std::filesystem::remove_all(directory);
  }
  write_text(directory, "a file");
  exporter.export_snapshot(snapshot);
  CHECK(!exporter.shutdown(kNoTime));
}

TEST_CASE("Prometheus: a directory that this user cannot write is reported, and the run goes on") {
  const Scratch scratch;
  std::filesystem::create_directory(scratch.path("closed"));
  std::filesystem::permissions(scratch.path(""), std::filesystem::perms(0755));
  std::filesystem::permissions(scratch.path("closed"), std::filesystem::perms(0555));
  CHECK(in_child([&] {
          if (geteuid() == 0 && setuid(65'534) != 0) { return 1; }
          const support::CaughtErrors errors;
          PrometheusExporter exporter = exporter_to(scratch.path("closed"));
          const Snapshot snapshot = a_run();
          exporter.begin(snapshot);
          const bool goes_on = exporter.export_snapshot(snapshot) == ExportResult::ok && !exporter.shutdown(kNoTime);
          const bool reported{mentions(errors.text(), {"closed", "Permission denied", "writable"})};
          return goes_on && reported && errors.lines().size() == 1 ? 0 : 2;
        }) == 0);
}

TEST_CASE("Prometheus: a full disk keeps the last whole file, and is tried again") {
  const Scratch scratch;
  const support::CaughtErrors errors;
  PrometheusExporter exporter = exporter_to(scratch.path(""));
  Snapshot snapshot = a_run();
  exporter.begin(snapshot);
  exporter.export_snapshot(snapshot);
  const std::string before = read_text(scratch.path(kFile));
  add_step(snapshot, 1'000'000);
  limit_file_size(1'000);
  for (int period = 0; period < 3; ++period) {
    CHECK(exporter.export_snapshot(snapshot) == ExportResult::ok);
    snapshot.rows.clear();
  }
  CHECK(!exporter.flush(kNoTime));
  CHECK(read_text(scratch.path(kFile)) == before);
  CHECK(DirectoryFiles(scratch.path("")).names().size() == 1);
  limit_file_size(0);
  CHECK(errors.lines().size() == 1);
  CHECK(mentions(errors.text(), {kFile, "free disk space"}));
  CHECK(exporter.shutdown(kNoTime));
  CHECK(value_of(series_of(read_text(scratch.path(kFile))), "takt_last_step") == 0);
}

TEST_CASE("Prometheus: links are not followed, and a second writer of the file is reported") {
  const Scratch scratch;
  const support::CaughtErrors errors;
  const std::string target = scratch.path("target");
  write_text(target, "kept");
  std::filesystem::create_symlink(target, scratch.path(kFile));
  std::filesystem::create_symlink(target, scratch.path(std::string(kFile) + "." + std::to_string(getpid()) + ".part"));
  PrometheusExporter one = exporter_to(scratch.path(""));
  PrometheusExporter another = exporter_to(scratch.path(""));
  const Snapshot snapshot = a_run();
  one.export_snapshot(snapshot);
  CHECK(read_text(target) == "kept");
  CHECK(std::filesystem::is_regular_file(std::filesystem::symlink_status(scratch.path(kFile))));
  one.export_snapshot(snapshot);
  CHECK(errors.lines().empty());
  another.export_snapshot(snapshot);
  one.export_snapshot(snapshot);
  CHECK(mentions(errors.text(), {kFile, "TAKT_RUN_ID", "TAKT_RANK"}));
}
