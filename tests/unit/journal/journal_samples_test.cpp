// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "journal/journal_blocks.hpp"
#include "journal/journal_reader.hpp"
#include "journal/journal_writer.hpp"
#include "support/catch.hpp"
#include "support/journal_helpers.hpp"
#include "support/sampled_run.hpp"
#include "support/scratch.hpp"
#include "support/tests_directory.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

using takt::ExportResult;
using takt::Sample;
using takt::Snapshot;
using takt::detail::Frame;
using takt::detail::FrameBuffer;
using takt::detail::FrameType;
using takt::detail::JournalExporter;
using takt::detail::JournalReader;
using takt::detail::JournalState;
using namespace takt_test;

namespace {

std::string golden_samples() { return (takt_test::tests_directory() / "data" / "journal-samples").string(); }

/// Returns a run with the samples numbered `first` to `end` - 1.
Snapshot sampled_from(std::uint64_t first, std::uint64_t end, bool finished = false) {
  Snapshot snapshot = sampled_snapshot();
  snapshot.rows.clear();
  snapshot.metrics.clear();
  snapshot.finished = finished;
  snapshot.wall_ns = static_cast<std::int64_t>(end) * kSampleNs;
  for (std::uint64_t number = first; number < end; ++number) { snapshot.samples.push_back(gpu_sample(number)); }
  return snapshot;
}

bool same_sample(const Sample& a, const Sample& b) {
  return a.sequence == b.sequence && a.sensor == b.sensor && a.time_ns == b.time_ns && a.values == b.values;
}

void check_samples(const std::vector<Sample>& samples, std::uint64_t first, std::uint64_t end) {
  REQUIRE(samples.size() == end - first);
  for (std::uint64_t number = first; number < end; ++number) {
    CHECK(same_sample(samples[number - first], gpu_sample(number)));
  }
}

void write_samples(JournalExporter& writer) {
  REQUIRE(writer.export_snapshot(sampled_from(0, 10)) == ExportResult::ok);
  REQUIRE(writer.export_snapshot(sampled_from(10, 20)) == ExportResult::ok);
  REQUIRE(writer.export_snapshot(sampled_from(20, 30, true)) == ExportResult::ok);
}

/// Applies each frame of a buffer to `state`.
std::vector<JournalState::Answer> apply(JournalState& state, const FrameBuffer& frames) {
  std::vector<JournalState::Answer> answers;
  std::string_view left = frames.bytes();
  Frame frame;
  while (takt::detail::parse_frame(left, frame)) {
    answers.push_back(state.apply(frame));
    left.remove_prefix(frame.bytes);
  }
  CHECK(left.empty());
  return answers;
}

}  // namespace

// Run by name to rewrite the file, until the version that wrote it is released.
TEST_CASE("write the golden file of a journal with samples", "[.golden]") {
  JournalExporter writer(golden_samples(), plain_journal());
  write_samples(writer);
}

TEST_CASE("Samples in a journal: the golden file always reads the same") {
  JournalReader reader(golden_samples());
  Snapshot read;
  REQUIRE(reader.finish(read));
  CHECK(is_undamaged(reader));
  check_samples(read.samples, 0, 30);
  CHECK(spell_state(read) == spell_state(sampled_from(0, 30, true)));
  // Checks the fields that the texts do not show.
  REQUIRE(read.sensors.size() == 4);
  CHECK(read.sensors[0].quantities == sampled_gpu("cuda 0", 4).quantities);
  CHECK(read.sensors[0].number == 0);
  CHECK(read.sensors[0].energy.by_power_joules == 4 * 298);
  CHECK(read.sensors[0].slowed.at(1).ns == 120'000'000);
  CHECK(read.sensors[3].processors == 8);
  CHECK(read.step_energies.at(1).error_joules == 15);
  CHECK(read.region_energies.at(0).name == "Validation");
  CHECK(read.unsampled.at(0).why == "librocm_smi64.so.7 cannot be loaded");
}

TEST_CASE("Samples in a journal: reads memory reserved by the driver, which the first version lacked") {
  const Scratch scratch;
  Snapshot snapshot = sampled_from(0, 10, true);
  snapshot.sensors[0].reserved_bytes = 629'145'600;
  REQUIRE(JournalExporter(scratch.path("."), plain_journal()).export_snapshot(snapshot) == ExportResult::ok);
  JournalReader reader(scratch.path("."));
  Snapshot read;
  REQUIRE(reader.finish(read));
  REQUIRE(read.sensors.size() == 4);
  CHECK(read.sensors[0].reserved_bytes == 629'145'600);
  CHECK_FALSE(read.sensors[1].reserved_bytes);
  JournalReader golden(golden_samples());
  REQUIRE(golden.finish(read));
  REQUIRE(read.sensors.size() == 4);
  CHECK_FALSE(read.sensors[0].reserved_bytes);
}

TEST_CASE("Samples in a journal: each segment knows its sensors, and samples appear once") {
  const Scratch scratch;
  {
    JournalExporter writer(scratch.path("."), plain_journal(1));  // one segment per export
    write_samples(writer);
  }
  JournalReader whole(scratch.path("."));
  Snapshot read;
  REQUIRE(whole.finish(read));
  check_samples(read.samples, 0, 30);
  std::filesystem::remove(scratch.path("journal-00000.tjl"));
  JournalReader rest(scratch.path("."));
  Snapshot later;
  REQUIRE(rest.finish(later));
  check_samples(later.samples, 10, 30);
  CHECK(later.sensors.size() == 4);
  CHECK(later.sensors[0].samples == 41);
}

TEST_CASE("Samples in a journal: writes figures every ten seconds and at the end") {
  takt::detail::JournalChanges changes;
  const auto reported = [&](std::int64_t wall_s, bool finished) {
    Snapshot snapshot = sampled_snapshot(wall_s + 1);
    snapshot.wall_ns = wall_s * 1'000'000'000;
    snapshot.finished = finished;
    FrameBuffer frames(0);
    changes.add_state(frames, snapshot);
    JournalState state;
    apply(state, frames);
    Snapshot read;
    state.move_into(read);
    // A frame of figures needs the sensors, which only the first one has.
    return frames.bytes().size();
  };
  const std::size_t first = reported(0, false);
  const std::size_t silent = reported(5, false);
  CHECK(silent + 400 < first);
  CHECK(reported(9, false) == silent);
  const std::size_t due = reported(10, false);
  CHECK(due > silent + 400);
  CHECK(reported(11, false) == silent);
  CHECK(reported(12, true) > silent + 400);
}

TEST_CASE("Samples in a journal: restores differences of any numbers") {
  std::vector<Sample> samples;
  const std::int64_t odd[] = {Sample::kAbsent, 0, -1, INT64_MAX, Sample::kAbsent, 7, INT64_MIN + 1, 1};
  for (std::uint64_t number = 0; number < 1500; ++number) {
    Sample sample;
    sample.sequence = number + (number >= 700 ? 13 : 0);  // some are missing
    sample.sensor = static_cast<std::uint32_t>(number % 3);
    sample.time_ns = odd[(number / 3) % 8];
    for (std::uint64_t value = 0; value < number % 5; ++value) { sample.values.push_back(odd[(number + value) % 8]); }
    samples.push_back(sample);
  }
  FrameBuffer frames(0);
  takt::detail::add_samples(frames, samples);
  std::vector<Sample> read;
  std::string_view left = frames.bytes();
  Frame frame;
  while (takt::detail::parse_frame(left, frame)) {
    CHECK(frame.type == static_cast<std::uint16_t>(FrameType::samples));
    REQUIRE(takt::detail::read_samples(frame.payload, read));
    left.remove_prefix(frame.bytes);
  }
  REQUIRE(read.size() == samples.size());
  for (std::size_t at = 0; at < read.size(); ++at) { CHECK(same_sample(read[at], samples[at])); }
}

TEST_CASE("Samples in a journal: a sample of a GPU takes about one byte per value") {
  FrameBuffer frames(0);
  std::vector<Sample> samples;
  for (std::uint64_t number = 0; number < 500; ++number) { samples.push_back(gpu_sample(number)); }
  takt::detail::add_samples(frames, samples);
  CHECK(frames.bytes().size() < 500 * 20);
}

TEST_CASE("Samples in a journal: refuses impossible values") {
  using Answer = JournalState::Answer;
  const auto state_of = [](const Snapshot& snapshot, JournalState& state) {
    takt::detail::JournalChanges changes;
    FrameBuffer frames(0);
    changes.add_state(frames, snapshot);
    return apply(state, frames);
  };
  JournalState state;
  state_of(sampled_snapshot(), state);
  const auto answer_to = [&](FrameType type, const auto& record) {
    FrameBuffer frames(0);
    frames.add(type, record);
    return apply(state, frames).at(0);
  };
  FrameBuffer unknown(0);
  takt::detail::add_samples(unknown, {gpu_sample(0, 9)});
  takt::detail::add_samples(unknown, {gpu_sample(1, 1)});  // a GPU's values for the CPUs
  for (const Answer each : apply(state, unknown)) { CHECK(each == Answer::unreadable); }
  takt::detail::SampledRecord sampled;
  sampled.sensors.resize(5);  // only four exist
  CHECK(answer_to(FrameType::sampled, sampled) == Answer::unreadable);
  sampled.sensors.resize(1);
  sampled.sensors[0].figures.resize(3);  // it has seven
  CHECK(answer_to(FrameType::sampled, sampled) == Answer::unreadable);
  sampled.sensors[0].figures.clear();
  sampled.steps.resize(1);
  sampled.steps[0].sensor = 2;
  CHECK(answer_to(FrameType::sampled, sampled) == Answer::unreadable);
  sampled.steps.clear();
  sampled.regions.resize(1);
  sampled.regions[0].sensor = 2;
  CHECK(answer_to(FrameType::sampled, sampled) == Answer::unreadable);
  takt::detail::SensorsRecord sensors;
  sensors.sensors.resize(2000);
  CHECK(answer_to(FrameType::sensors, sensors) == Answer::unreadable);
  Snapshot read;
  state.move_into(read);
  CHECK(read.sensors.size() == 4);
  CHECK(read.samples.empty());
  CHECK(read.step_energies.size() == 2);
  // Removing sensors also removes their energies.
  sensors.sensors.resize(1);
  CHECK(answer_to(FrameType::sensors, sensors) == Answer::taken);
  state.move_into(read);
  CHECK(read.step_energies.size() == 1);
  CHECK(read.region_energies.size() == 1);
}

TEST_CASE("Samples in a journal: reading cut or flipped frames ends without taking memory") {
  FrameBuffer frames(0);
  std::vector<Sample> samples;
  for (std::uint64_t number = 0; number < 20; ++number) { samples.push_back(gpu_sample(number)); }
  takt::detail::add_samples(frames, samples);
  Frame frame;
  REQUIRE(takt::detail::parse_frame(frames.bytes(), frame));
  const std::string payload(frame.payload);
  for (std::size_t at = 0; at < payload.size(); ++at) {
    std::vector<Sample> read;
    takt::detail::read_samples(payload.substr(0, at), read);
    CHECK(read.size() <= 20);
    for (const char flip : {'\x01', '\x80', '\xFF'}) {
      std::string bad = payload;
      bad[at] = static_cast<char>(bad[at] ^ flip);
      read.clear();
      takt::detail::read_samples(bad, read);
      CHECK(read.size() <= payload.size());
    }
  }
}

TEST_CASE("Samples in a journal: omits and counts samples beyond its budget") {
  const Scratch scratch;
  takt::detail::JournalOptions options = plain_journal();
  options.max_bytes = 1;
  JournalExporter writer(scratch.path("."), options);
  REQUIRE(writer.export_snapshot(sampled_from(0, 10)) == ExportResult::ok);
  REQUIRE(writer.export_snapshot(sampled_from(10, 25)) == ExportResult::ok);
  REQUIRE(writer.export_snapshot(sampled_from(25, 30, true)) == ExportResult::ok);
  CHECK(writer.left_out_samples() == 20);
  JournalReader reader(scratch.path("."));
  Snapshot read;
  REQUIRE(reader.finish(read));
  check_samples(read.samples, 0, 10);
  CHECK(read.sensors[0].samples == 41);  // figures are kept
  bool reported = false;
  for (const takt::Loss& each : read.losses) {
    reported = reported || (each.what == "not_in_journal" && each.where == "samples" && each.count == 20);
  }
  CHECK(reported);
}
