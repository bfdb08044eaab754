// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/testing/exporter_conformance.hpp>

#include <takt/exporters/console.hpp>
#include <takt/exporters/csv.hpp>
#include <takt/exporters/json.hpp>
#include <takt/exporters/memory.hpp>
#include <takt/exporters/prometheus.hpp>
#include <takt/exporters/tensorboard.hpp>
#include <takt/exporters/trace.hpp>
#include <takt/exporters/wandb.hpp>

#include "support/catch.hpp"
#include "support/caught_errors.hpp"
#include "support/scratch.hpp"
#include "support/wandb_reader.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

using namespace takt_test;
using std::chrono::milliseconds;
using takt::Exporter;
using takt::ExportResult;
using takt::Snapshot;
using Steps = std::vector<std::int64_t>;

namespace {

/// Creates a directory for each exporter, on a disk that can be full.
class DiskDriver {
 public:
  static bool can_fail() { return true; }
  static void fail(bool on) { limit_file_size(on ? 1 : 0); }

 protected:
  std::string new_place() {
    scratch_.emplace();
    return scratch_->path("");
  }
  std::string place() const { return scratch_->path(""); }
  /// Returns the first file with `part` in its name, or empty if there is none.
  std::string file_with(const char* part) const {
    for (const auto& each : std::filesystem::recursive_directory_iterator(place())) {
      if (each.is_regular_file() && contains(each.path().filename(), part)) { return each.path(); }
    }
    return "";
  }

 private:
  std::optional<Scratch> scratch_;
};

struct CsvDriver : DiskDriver {
  std::unique_ptr<Exporter> exporter() { return std::make_unique<takt::CsvExporter>(new_place() + "steps.csv"); }
  static bool can_tell() { return true; }
  Steps steps() const {
    Steps found;
    std::istringstream file(read_text(place() + "steps.csv"));
    std::string line;
    std::getline(file, line);
    while (std::getline(file, line)) {
      if (contains(line, ",Batch,1,")) { found.push_back(std::stoll(line)); }
    }
    return found;
  }
};

struct JsonDriver : DiskDriver {
  std::unique_ptr<Exporter> exporter() { return std::make_unique<takt::JsonExporter>(new_place() + "summary.json"); }
  static bool can_tell() { return false; }
  static Steps steps() { return {}; }
};

struct TraceDriver : DiskDriver {
  std::unique_ptr<Exporter> exporter() { return std::make_unique<takt::TraceExporter>(new_place() + "trace.json"); }
  static bool can_tell() { return false; }
  static Steps steps() { return {}; }
};

struct ConsoleDriver : DiskDriver {
  ~ConsoleDriver() { close(); }
  std::unique_ptr<Exporter> exporter() {
    close();
    takt::ConsoleOptions options;
    options.stream = stream_ = std::fopen((new_place() + "table").c_str(), "w");
    return std::make_unique<takt::ConsoleExporter>(options);
  }
  static bool can_tell() { return false; }
  static Steps steps() { return {}; }

 private:
  void close() {
    if (stream_ != nullptr) { std::fclose(stream_); }
  }
  std::FILE* stream_ = nullptr;
};

struct PrometheusDriver : DiskDriver {
  std::unique_ptr<Exporter> exporter() {
    takt::PrometheusOptions options;
    options.directory = new_place();
    return std::make_unique<takt::PrometheusExporter>(options);
  }
  static bool can_tell() { return false; }
  static Steps steps() { return {}; }
};

struct TensorboardDriver : DiskDriver {
  std::unique_ptr<Exporter> exporter() {
    takt::TensorboardOptions options;
    options.directory = new_place();
    options.every_step = true;
    return std::make_unique<takt::TensorboardExporter>(options);
  }
  static bool can_tell() { return true; }
  Steps steps() const {
    Steps found;
    const std::string file = read_text(file_with("tfevents"));
    for (std::size_t at = 0; at + 16 <= file.size();) {
      std::uint64_t length = 0;
      std::memcpy(&length, file.data() + at, sizeof length);
      const WandbMessage event(std::string_view(file).substr(at + 12, length));
      at += length + 16;
      if (!event.has(5)) { continue; }
      const WandbMessage value = event.message(5).message(1);
      const bool is_step = value.texts.at(1).front() == "time/Batch/step_s";
      if (is_step) { found.push_back(event.numbers.count(2) == 0 ? 0 : event.numbers.at(2)); }
    }
    return found;
  }
};

struct WandbDriver : DiskDriver {
  std::unique_ptr<Exporter> exporter() {
    takt::WandbOptions options;
    options.directory = new_place();
    options.mode = takt::WandbMode::offline;
    options.every_step = true;
    return std::make_unique<takt::WandbExporter>(options);
  }
  static bool can_tell() { return true; }
  Steps steps() const {
    Steps found;
    const std::string path = file_with(".wandb");
    const std::string log = path.empty() ? "" : read_text(path);
    if (log.size() < 7) { return found; }  // a full disk did not even take the file's header
    for (const std::string& bytes : wandb_log_records(log)) {
      const WandbMessage record(bytes);
      if (!record.has(2)) { continue; }
      const auto items = record.message(2).items();
      if (items.count("time/Batch/step_s") != 0) { found.push_back(std::stoll(items.at("takt/step"))); }
    }
    return found;
  }
};

struct MemoryDriver {
  std::unique_ptr<Exporter> exporter() {
    return std::make_unique<takt::MemoryExporter>(place = takt::MemoryExporter());
  }
  static bool can_tell() { return true; }
  static bool can_fail() { return false; }
  static void fail(bool) {}
  Steps steps() const {
    Steps found;
    for (const takt::Row& row : place.rows()) { found.push_back(row.step); }
    return found;
  }

  takt::MemoryExporter place;
};

enum class Fault {
  none,
  no_name,
  changing_name,
  loses,
  repeats,
  reorders,
  drops,
  throws_in_an_outage,
  claims_to_deliver,
  repeats_after_an_outage,
  begins_late,
  flushes_late,
  shuts_down_late,
  has_nothing_to_flush,
  wants_rows,
  sends_again_in_flush,
  sends_after_the_end,
  chokes_on_a_name
};

/// A destination and the data that its exporter has not delivered yet.
struct Place {
  bool takes = true;
  Steps there;
  Steps waiting;
};

/// An exporter that conforms except for one error that the suite must detect.
class Faulty final : public Exporter {
 public:
  Faulty(Place& place, Fault error) : place_(place), fault_(error) {}

  const char* name() const noexcept override {
    if (fault_ == Fault::no_name) { return ""; }
    return fault_ == Fault::changing_name && std::exchange(named_, true) ? "another" : "faulty";
  }
  void begin(const Snapshot&) override { late(Fault::begins_late, milliseconds(0)); }
  ExportResult export_snapshot(const Snapshot& snapshot) override {
    if (fault_ == Fault::throws_in_an_outage && !place_.takes) { throw std::runtime_error("away"); }
    if (fault_ == Fault::chokes_on_a_name && contains(snapshot.run.name, "\n")) { return ExportResult::drop; }
    if (fault_ == Fault::drops && !snapshot.finished) { return ExportResult::drop; }
    for (const takt::Row& row : snapshot.rows) {
      if (fault_ != Fault::loses || row.step != 11) { place_.waiting.push_back(row.step); }
      if (fault_ == Fault::repeats) { place_.waiting.push_back(row.step); }
    }
    if (fault_ == Fault::reorders) { std::reverse(place_.waiting.begin(), place_.waiting.end()); }
    if (fault_ == Fault::repeats_after_an_outage && std::exchange(was_away_, !place_.takes)) {
      place_.waiting.insert(place_.waiting.begin(), place_.there.begin(), place_.there.end());
    }
    send();
    return ExportResult::ok;
  }
  bool flush(milliseconds deadline) override {
    if (fault_ == Fault::has_nothing_to_flush && place_.there.empty()) { return false; }
    late(Fault::flushes_late, deadline);
    if ((fault_ == Fault::sends_again_in_flush && !ended_) || (fault_ == Fault::sends_after_the_end && ended_)) {
      place_.waiting = place_.there;
    }
    return send();
  }
  bool shutdown(milliseconds deadline) override {
    late(Fault::shuts_down_late, deadline);
    ended_ = true;
    const bool sent = send();
    if (fault_ == Fault::wants_rows) { return sent && !place_.there.empty(); }
    return sent || fault_ == Fault::claims_to_deliver;
  }

 private:
  bool send() {
    if (!place_.takes) { return false; }
    place_.there.insert(place_.there.end(), place_.waiting.begin(), place_.waiting.end());
    place_.waiting.clear();
    return true;
  }
  void late(Fault error, milliseconds deadline) const {
    if (fault_ != error || place_.takes) { return; }
    const auto until = std::chrono::steady_clock::now() + deadline + milliseconds(1'100);
    while (std::chrono::steady_clock::now() < until) { std::this_thread::yield(); }
  }

  Place& place_;
  Fault fault_;
  mutable bool named_ = false;
  bool was_away_ = false;
  bool ended_ = false;
};

struct FaultyDriver {
  std::unique_ptr<Exporter> exporter() {
    place = Place();
    return std::make_unique<Faulty>(place, error);
  }
  static bool can_tell() { return true; }
  static bool can_fail() { return true; }
  void fail(bool on) { place.takes = !on; }
  Steps steps() const { return place.there; }

  Fault error;
  Place place;
};

template <class Driver>
void check_that_it_conforms() {
  const support::CaughtErrors errors;
  Driver driver;
  CHECK(takt::check_exporter_conformance(driver) == std::vector<std::string>{});
}

/// Returns the only requirement that an exporter with `error` breaks, or the first of several.
std::string found(Fault error) {
  FaultyDriver driver{error, {}};
  const std::vector<std::string> failures = takt::check_exporter_conformance(driver);
  return failures.empty() ? "" : failures.front();
}

}  // namespace

TEMPLATE_TEST_CASE("exporter conformance: Takt's file exporters and in-memory exporters conform", "[timed]", CsvDriver,
                   JsonDriver, TraceDriver, ConsoleDriver, PrometheusDriver, TensorboardDriver, WandbDriver,
                   MemoryDriver) {
  check_that_it_conforms<TestType>();
}

TEST_CASE("exporter conformance: the suite detects each error", "[timed]") {
  CHECK(found(Fault::none) == "");
  CHECK(found(Fault::no_name) == "name() is short, and not empty");
  CHECK(found(Fault::changing_name) == "name() is the same each time");
  CHECK(found(Fault::loses) == "each row arrives once, in order");
  CHECK(found(Fault::repeats) == "each row arrives once, in order");
  CHECK(found(Fault::reorders) == "each row arrives once, in order");
  CHECK(found(Fault::drops) == "nothing is dropped while the destination accepts data");
  CHECK(found(Fault::throws_in_an_outage) == "no call throws");
  CHECK(found(Fault::claims_to_deliver) == "data answered with ok have arrived if shutdown() returns true");
  CHECK(found(Fault::repeats_after_an_outage) == "data answered with ok have arrived if shutdown() returns true");
  CHECK(found(Fault::begins_late) == "begin() returns within a second");
  CHECK(found(Fault::flushes_late) == "flush() meets its deadline");
  CHECK(found(Fault::shuts_down_late) == "shutdown() meets its deadline");
  CHECK(found(Fault::has_nothing_to_flush) == "flush() before the first snapshot has nothing to send and returns true");
  CHECK(found(Fault::wants_rows) == "a run in which nothing was recorded is delivered");
  CHECK(found(Fault::sends_again_in_flush) == "two calls of flush() send nothing twice");
  CHECK(found(Fault::sends_after_the_end) == "calls after shutdown() change nothing");
  CHECK(found(Fault::chokes_on_a_name) == "unusual names cause no dropped rows");
}
