// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/exporters/tensorboard.hpp>

#include "base/format.hpp"
#include "tensorboard/tensorboard_run.hpp"

#include "support/catch.hpp"
#include "support/caught_errors.hpp"
#include "support/sample_job.hpp"
#include "support/scratch.hpp"
#include "support/snapshot_builder.hpp"

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

using namespace takt::detail;
using namespace takt_test;
using std::chrono::milliseconds;
using takt::ExportResult;
using takt::Snapshot;
using takt::TensorboardExporter;
using takt::TensorboardOptions;

namespace {

// Output of the package `tensorboard` for the messages below.
const char* const kGoldenEvents =
    "1800000000000000a37f4b220900002040fc54d9411a0d627261696e2e4576656e743a322b3531101a00000000000000129bd82d090000"
    "5040fc54d94110072a0d0a0b0a046c6f7373150000803e5229ea391800000000000000a37f4b220900005040fc54d9412a0d0a0b0a047a"
    "65726f1500000000737e45bd80000000000000002a5b60ec0900008040fc54d94110ffffffffffffffffff012a6a0a680a03642f412a61"
    "0948afbc9af2d77a3e11fde5fdf962617b3e1900000000000008402123d1dd0b5244943e295a20179dad1d213d3218a34a5dcaaa1c7b3e"
    "fde5fdf962617b3e57819e291ba67b3e3a1800000000000000400000000000000000000000000000f03fd5567de8";

std::string hex_of(const std::string& bytes) {
  std::string text;
  for (const char each : bytes) { text += takt::detail::format("{:02x}", static_cast<unsigned char>(each)); }
  return text;
}

/// Returns the messages of an event file, and requires correct lengths and checksums.
std::vector<std::string> messages_of(const std::string& file) {
  std::vector<std::string> found;
  for (std::size_t at = 0; at < file.size();) {
    std::uint64_t length = 0;
    REQUIRE(file.size() - at >= 16);
    std::memcpy(&length, file.data() + at, sizeof length);
    REQUIRE(file.size() - at - 16 >= length);
    found.push_back(file.substr(at + 12, length));
    REQUIRE(tfrecord(found.back()) == file.substr(at, length + 16));
    at += length + 16;
  }
  return found;
}

struct TensorboardRig {
  TensorboardRig() {
    snapshot.run.name = "digits";
    snapshot.run.id = "digits-7";
    snapshot.run.host = "a host/../b";
    snapshot.run.pid = 42;
    snapshot.run.start_unix_ns = 1'700'000'000'000'000'000;
    snapshot.run.directory = scratch.path("rank-0-0-42");
    REQUIRE(::mkdir(snapshot.run.directory.c_str(), 0700) == 0);
  }

  /// Exports one more metric.
  ExportResult show(TensorboardExporter& exporter, double value) {
    snapshot.metrics = {{next, "loss", value, static_cast<std::int64_t>(next), snapshot.run.start_unix_ns}};
    ++next;
    return exporter.export_snapshot(snapshot);
  }
  std::string file() const { return snapshot.run.directory + "/tensorboard/" + tensorboard_file(snapshot.run, false); }
  std::size_t messages() const { return messages_of(read_text(file())).size(); }

  Scratch scratch;
  TensorboardOptions options;
  Snapshot snapshot;
  std::uint64_t next = 0;
};

}  // namespace

TEST_CASE("TensorBoard events: equal those of TensorBoard's own writer") {
  takt::Summary durations;
  for (const std::uint64_t ns : {100U, 102U, 100U}) { durations.add(ns); }
  durations.add_warmup(1'000'000);  // not included
  std::string file;
  for (const Protobuf& event :
       {version_event(1'700'000'000.5), scalar_event(1'700'000'001.25, 7, "loss", 0.25),
        scalar_event(1'700'000'001.25, 0, "zero", 0), histogram_event(1'700'000'002, -1, "d/A", durations)}) {
    file += tfrecord(event.bytes());
  }
  CHECK(hex_of(file) == kGoldenEvents);
}

TEST_CASE("TensorBoard events: only a number beyond the range of a float becomes infinite") {
  const auto bits = [](double value) { return hex_of(scalar_event(0, 0, "x", value).bytes()).substr(34); };
  CHECK(bits(1e308) == "0000807f");
  CHECK(bits(-1e308) == "000080ff");
  CHECK(bits(std::numeric_limits<float>::max()) == "ffff7f7f");
  CHECK(bits(-std::numeric_limits<double>::infinity()) == "000080ff");
  CHECK(bits(-0.0) == "00000080");
  CHECK(bits(1e-320) == "00000000");
}

TEST_CASE("TensorBoard: a file exists before the first value and has whole records after each period") {
  TensorboardRig rig;
  TensorboardExporter exporter(rig.options);
  exporter.begin(rig.snapshot);
  CHECK(name_part(rig.file()) == "events.out.tfevents.1700000000.a_host_.._b.42.takt");
  CHECK(rig.messages() == 1);
  CHECK(exists(rig.snapshot.run.directory + "/" + takt::detail::kTensorboard.lease));
  CHECK(mode_of(rig.file()) == 0600);
  CHECK(mode_of(directory_part(rig.file())) == 0700);
  CHECK(rig.show(exporter, 1) == ExportResult::ok);
  CHECK(rig.messages() == 2);
  CHECK(rig.show(exporter, std::numeric_limits<double>::quiet_NaN()) == ExportResult::ok);
  CHECK(messages_of(read_text(rig.file())).back() == scalar_event(1.7e9, 1, "loss", NAN).bytes());
  rig.snapshot.finished = true;
  add_calls(rig.snapshot.paths[add_path(rig.snapshot, "Load")].host, 0, 3, 1000);
  CHECK(rig.show(exporter, 3) == ExportResult::ok);
  CHECK(exporter.shutdown(milliseconds(60'000)));
  const std::string whole = read_text(rig.file());
  CHECK(contains(whole, "total/wall_s"));
  CHECK(contains(whole, "total/durations/time/Load"));
  CHECK_FALSE(exists(rig.snapshot.run.directory + "/" + takt::detail::kTensorboard.lease));
}

TEST_CASE("TensorBoard: writes data refused by the disk later, and counts all of it beyond a limit") {
  TensorboardRig rig;
  CHECK(in_child([&] {
          support::CaughtErrors errors;
          TensorboardExporter exporter(rig.options);
          exporter.begin(rig.snapshot);
          limit_file_size(70);  // in the middle of a record
          if (rig.show(exporter, 1) != ExportResult::ok || rig.show(exporter, 2) != ExportResult::ok) { return 1; }
          if (errors.lines().size() != 1 || !contains(errors.text(), "Missing data is buffered")) { return 2; }
          if (exporter.flush(milliseconds(0))) { return 3; }
          limit_file_size(0);
          return rig.show(exporter, 3) == ExportResult::ok && exporter.shutdown(milliseconds(0)) ? 0 : 4;
        }) == 0);
  CHECK(rig.messages() == 4);

  CHECK(in_child([&] {
          support::CaughtErrors errors;
          TensorboardRun run(false, 100);
          run.create(std::make_shared<DirectoryFiles>(rig.scratch.path("")), "small", rig.snapshot.run);
          limit_file_size(70);
          rig.snapshot.metrics = {{0, std::string(200, 'x'), 1, 0, 0}};
          const bool taken = run.take(rig.snapshot);
          limit_file_size(0);
          const bool later = run.take(rig.snapshot) || run.flush();
          return !taken && !later && contains(errors.text(), "Nothing more is written") && errors.lines().size() == 1
                     ? 0
                     : 1;
        }) == 0);
}

TEST_CASE("TensorBoard: a removed file is reported once, and later data is counted") {
  TensorboardRig rig;
  support::CaughtErrors errors;
  TensorboardExporter exporter(rig.options);
  CHECK(rig.show(exporter, 1) == ExportResult::ok);
  std::filesystem::remove_all(directory_part(rig.file()));
  CHECK(rig.show(exporter, 2) == ExportResult::drop);
  CHECK(rig.show(exporter, 3) == ExportResult::drop);
  CHECK_FALSE(exporter.shutdown(milliseconds(60'000)));
  CHECK(errors.lines().size() == 1);
  CHECK(contains(errors.text(), "takt sync --to tensorboard"));
}

TEST_CASE("TensorBoard: does not touch links and existing files") {
  TensorboardRig rig;
  support::CaughtErrors errors;
  const std::string outside = rig.scratch.path("outside");
  REQUIRE(::mkdir(outside.c_str(), 0700) == 0);
  REQUIRE(::symlink(outside.c_str(), (rig.snapshot.run.directory + "/tensorboard").c_str()) == 0);
  {
    TensorboardExporter exporter(rig.options);
    CHECK(rig.show(exporter, 1) == ExportResult::drop);
    CHECK(contains(errors.text(), "TensorBoard"));
  }
  CHECK(std::filesystem::is_empty(outside));
  std::filesystem::remove(rig.snapshot.run.directory + "/tensorboard");
  REQUIRE(::mkdir((rig.snapshot.run.directory + "/tensorboard").c_str(), 0700) == 0);
  write_text(rig.file(), "precious");
  TensorboardExporter exporter(rig.options);
  CHECK(rig.show(exporter, 1) == ExportResult::drop);
  CHECK(read_text(rig.file()) == "precious");
}

TEST_CASE("TensorBoard: in a user's directory each process has its own, whatever the run's name") {
  TensorboardRig rig;
  support::CaughtErrors errors;
  rig.options.directory = rig.scratch.path("a/log dir");
  TensorboardExporter exporter(rig.options);
  CHECK(rig.show(exporter, 1) == ExportResult::ok);
  const std::string own = rig.options.directory + "/digits-7/rank-0-0-42/";
  CHECK(exists(own + tensorboard_file(rig.snapshot.run, false)));
  CHECK(mode_of(rig.options.directory) == 0700);
  std::string error;
  rig.snapshot.run.directory += "-1";  // of a second Session of the process
  CHECK(tensorboard_directory(rig.options.directory, rig.snapshot.run, {}, error)->path() ==
        rig.options.directory + "/digits-7/rank-0-0-42-1");
  rig.snapshot.run.directory.clear();
  rig.snapshot.run.attempt = 3;
  CHECK(tensorboard_directory(rig.options.directory, rig.snapshot.run, {}, error)->path() ==
        rig.options.directory + "/digits-7/rank-0-3-42");
  CHECK(error.empty());
  for (const char* const id : {"..", "../x", "", "a/b"}) {
    rig.snapshot.run.id = id;
    error.clear();
    tensorboard_directory(rig.options.directory, rig.snapshot.run, {}, error);
    CHECK(contains(error, "cannot make the directory"));
  }
  CHECK_FALSE(exists(rig.scratch.path("a/x")));
}

TEST_CASE("TensorBoard: rank 1 writes only if all ranks are to, and a second exporter does not") {
  TensorboardRig rig;
  support::CaughtErrors errors;
  rig.snapshot.run.rank = 1;
  TensorboardExporter silent(rig.options);
  CHECK(rig.show(silent, 1) == ExportResult::ok);
  CHECK(silent.shutdown(milliseconds(0)));
  CHECK_FALSE(exists(directory_part(rig.file())));
  CHECK(errors.text().empty());
  rig.options.all_ranks = true;
  TensorboardExporter speaking(rig.options);
  TensorboardExporter second(rig.options);
  CHECK(rig.show(speaking, 1) == ExportResult::ok);
  CHECK(rig.show(second, 1) == ExportResult::drop);
  CHECK(rig.messages() == 2);
  CHECK(errors.lines().size() == 1);
}

TEST_CASE("TensorBoard: without a directory one line says what to set") {
  TensorboardRig rig;
  support::CaughtErrors errors;
  rig.snapshot.run.directory.clear();
  TensorboardExporter exporter(rig.options);
  CHECK(rig.show(exporter, 1) == ExportResult::drop);
  CHECK(contains(errors.text(), "set TAKT_TENSORBOARD_DIR"));
}

TEST_CASE("TensorBoard: figures over ranks have a separate file, written whole or not at all") {
  TensorboardRig rig;
  const std::string file = rig.file() + "-total-ranks-0000004";
  rig.snapshot.finished = true;
  rig.snapshot.job = shared_job(4);
  CHECK(in_child([&] {
          support::CaughtErrors errors;
          TensorboardRun run(false);
          const auto directory = std::make_shared<DirectoryFiles>(rig.scratch.path(""));
          run.create(directory, tensorboard_file(rig.snapshot.run, false), rig.snapshot.run);
          limit_file_size(700);  // within which the other file fits
          const bool taken = run.take(rig.snapshot) && run.flush();
          limit_file_size(0);
          const std::size_t files = directory->names().size();
          return !taken ? 1 : run.sync() ? 2 : files != 2 ? 3 : contains(errors.text(), "-total-ranks-0000004") ? 0 : 4;
        }) == 0);
  TensorboardExporter exporter(rig.options);
  exporter.begin(rig.snapshot);
  CHECK(exporter.export_snapshot(rig.snapshot) == ExportResult::ok);
  CHECK(exporter.shutdown(milliseconds(60'000)));
  CHECK_FALSE(contains(read_text(rig.file()), "total/ranks"));
  const std::vector<std::string> messages = messages_of(read_text(file));
  CHECK(messages.size() == 1 + 2 + 3 * 6);
  CHECK(messages.front() == version_event(1.7e9).bytes());
  CHECK(contains(messages.back(), "total/ranks/time/Batch/ns::f<int>/ranks"));
  CHECK(mode_of(file) == 0600);
}

TEST_CASE("TensorBoard: figures over more ranks replace those over fewer and nothing else") {
  TensorboardRig rig;
  const auto directory = std::make_shared<DirectoryFiles>(rig.scratch.path("rank-0-0-42"));
  const std::string stem = tensorboard_file(rig.snapshot.run, false) + "-total-ranks-";
  const std::vector<std::string> others = {stem + "xxxxxxx", stem + "99999999", stem,
                                           "events.out.tfevents.1.takt-total-ranks-0000001"};
  for (const std::string& each : others) { write_text(directory->path(each), "of somebody else"); }
  TensorboardRun run(false);
  run.create(directory, tensorboard_file(rig.snapshot.run, false), rig.snapshot.run);
  rig.snapshot.finished = true;
  CHECK(run.take(rig.snapshot));
  const auto give = [&](std::uint32_t ranks) {
    rig.snapshot.job = shared_job(ranks);
    CHECK(run.take_job(rig.snapshot));
  };
  give(9);
  give(10);
  CHECK_FALSE(directory->may_exist(stem + "0000009"));
  const std::string of_ten = read_text(directory->path(stem + "0000010"));
  CHECK(messages_of(of_ten).size() == 21);
  give(10);
  give(3);
  CHECK(read_text(directory->path(stem + "0000010")) == of_ten);
  CHECK(directory->names().size() == 2 + others.size());
  for (const std::string& each : others) { CHECK(read_text(directory->path(each)) == "of somebody else"); }
}
