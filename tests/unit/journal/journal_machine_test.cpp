// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "journal/journal_reader.hpp"
#include "journal/journal_writer.hpp"
#include "support/catch.hpp"
#include "support/journal_helpers.hpp"
#include "support/scratch.hpp"
#include "support/tests_directory.hpp"

#include <string>

using takt::ExportResult;
using takt::MachineInfo;
using takt::Snapshot;
using takt::detail::JournalExporter;
using takt::detail::JournalReader;
using namespace takt_test;

namespace {

std::string journal_in_data(const char* name) { return (takt_test::tests_directory() / "data" / name).string(); }

MachineInfo some_machine() {
  MachineInfo machine;
  machine.cpu = "AMD EPYC 7763 64-Core Processor";
  machine.cores = 64;
  machine.logical_cpus = 128;
  machine.host_memory_bytes = 540'000'000'000;
  machine.gpus = {"NVIDIA H200", "NVIDIA H200"};
  machine.commit = std::string(40, 'a');
  machine.command = {"./train", "--lr", "0.1", ""};
  machine.compiler = "g++ 12.2.0";
  machine.libraries = {{"cuda_driver", "12.4"}, {"mpi", "Open MPI v4.1.4"}};
  return machine;
}

std::string encoding_of(const MachineInfo& machine) {
  Snapshot snapshot;
  snapshot.run.machine = machine;
  return spell_state(snapshot);
}

MachineInfo machine_of(const std::string& directory) {
  JournalReader reader(directory);
  Snapshot read;
  REQUIRE(reader.finish(read));
  CHECK(is_undamaged(reader));
  return read.run.machine;
}

void write_machine(const std::string& directory) {
  JournalExporter writer(directory, plain_journal());
  Snapshot snapshot = sample_snapshot();
  snapshot.finished = false;
  snapshot.run.machine = some_machine();
  snapshot.run.machine.libraries.clear();
  REQUIRE(writer.export_snapshot(snapshot) == ExportResult::ok);
  snapshot.run.machine = some_machine();
  snapshot.finished = true;
  REQUIRE(writer.export_snapshot(snapshot) == ExportResult::ok);
}

}  // namespace

// Run by name to write the file again, until the version that wrote it is released.
TEST_CASE("write the golden file of a journal with the machine", "[.golden]") {
  write_machine(journal_in_data("journal-machine"));
}

TEST_CASE("The machine in a journal: the golden file reads the same for ever, and older ones have none") {
  CHECK(encoding_of(machine_of(journal_in_data("journal-machine"))) == encoding_of(some_machine()));
  CHECK(encoding_of(machine_of(journal_in_data("journal-version"))) == encoding_of({}));
}

TEST_CASE("The machine in a journal: the last frame counts, and an unknown machine has none") {
  const Scratch scratch;
  write_machine(scratch.path("."));
  CHECK(encoding_of(machine_of(scratch.path("."))) == encoding_of(some_machine()));

  takt::detail::JournalChanges changes;
  takt::detail::FrameBuffer frames(0);
  Snapshot snapshot;
  changes.add_state(frames, snapshot);
  const std::uint64_t without = frames.next_sequence();
  changes.clear();
  snapshot.run.machine.cores = 1;
  changes.add_state(frames, snapshot);
  CHECK(frames.next_sequence() == 2 * without + 1);
}
