// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "session/machine.hpp"

#include "base/git_tree.hpp"
#include "support/catch.hpp"
#include "support/scratch.hpp"

#include <takt/detail/library_version.hpp>
#include <takt/session.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

using takt::MachineInfo;
using takt::detail::add_later;
using takt::detail::read_machine;
using takt_test::Scratch;
using Texts = std::vector<std::string>;

namespace {

void put(const Scratch& scratch, const std::string& name, const std::string& text) {
  const std::filesystem::path path = scratch.path(name);
  std::filesystem::create_directories(path.parent_path());
  takt_test::write_text(path.string(), text);
}

MachineInfo machine_in(const Scratch& scratch) { return read_machine(true, scratch.path(".")); }

/// The first block of /proc/cpuinfo.
std::string cpu_block(long cores, long siblings) {
  return "processor\t: 0\nmodel\t\t: 1\nmodel name\t: AMD EPYC 7763 64-Core Processor\nsiblings\t: " +
         std::to_string(siblings) + "\ncpu cores\t: " + std::to_string(cores) +
         "\nflags\t\t: " + std::string(5000, 'f');
}

}  // namespace

TEST_CASE("Machine: reads processors and memory from the kernel's files") {
  const Scratch scratch;
  const long online = ::sysconf(_SC_NPROCESSORS_ONLN);
  put(scratch, "proc/cpuinfo", cpu_block(7, online));
  put(scratch, "proc/meminfo", "MemTotal:       2048 kB\nMemFree:  1 kB\n");
  const MachineInfo found = machine_in(scratch);
  CHECK(found.cpu == "AMD EPYC 7763 64-Core Processor");
  CHECK(found.cores == 7);
  CHECK(found.logical_cpus == online);
  CHECK(found.host_memory_bytes == 2048 * 1024);
  CHECK_FALSE(found.compiler.empty());
  put(scratch, "proc/cpuinfo", cpu_block(7, online + 1));  // packages that differ, or offline CPUs
  CHECK(machine_in(scratch).cores == std::nullopt);
}

TEST_CASE("Machine: unreadable data is unknown") {
  const Scratch scratch;
  const MachineInfo found = machine_in(scratch);
  CHECK(found.cpu.empty());
  CHECK(found.cores == std::nullopt);
  CHECK(found.host_memory_bytes == std::nullopt);
  CHECK(found.gpus.empty());
  CHECK(found.command.empty());
  for (const char* const text : {"", ":", "\n", "model name", "model name:", "model name\t:\n", ": x\nmodel name",
                                 "siblings: 0\ncpu cores: 0", "siblings: x\ncpu cores: -1"}) {
    put(scratch, "proc/cpuinfo", text);
    put(scratch, "proc/meminfo", text);
    CHECK(machine_in(scratch).cpu.empty());
    CHECK(machine_in(scratch).cores == std::nullopt);
    CHECK(machine_in(scratch).host_memory_bytes == std::nullopt);
  }
}

TEST_CASE("Machine: reads GPU models from the drivers' files, in order of their places") {
  const Scratch scratch;
  put(scratch, "proc/driver/nvidia/gpus/0000:02:00.0/information", "Model: \t\t NVIDIA H100\nIRQ: 1\n");
  put(scratch, "proc/driver/nvidia/gpus/0000:01:00.0/information", "Model: \t\t NVIDIA A100 80GB\n");
  CHECK(machine_in(scratch).gpus == Texts{"NVIDIA A100 80GB", "NVIDIA H100"});
  put(scratch, "sys/class/drm/card1/device/product_name", "AMD Instinct MI300X\n");
  put(scratch, "sys/class/drm/card1-DP-1/device/product_name", "a connector\n");
  CHECK(machine_in(scratch).gpus == Texts{"NVIDIA A100 80GB", "NVIDIA H100", "AMD Instinct MI300X"});
}

TEST_CASE("Machine: keeps the command up to 4,096 bytes, or not at all") {
  const Scratch scratch;
  put(scratch, "proc/self/cmdline", std::string("./train\0--lr\0\0a b\0", 18));
  CHECK(machine_in(scratch).command == Texts{"./train", "--lr", "", "a b"});
  put(scratch, "proc/self/cmdline", std::string("./train\0--token=a\0", 18));
  CHECK(machine_in(scratch).command == Texts{"./train", "--token=***"});
  CHECK(read_machine(false, scratch.path(".")).command.empty());
  put(scratch, "proc/self/cmdline", "x" + std::string(1, '\0') + std::string(5000, 'y'));
  CHECK(machine_in(scratch).command == Texts{"x", std::string(4094, 'y'), "..."});
}

TEST_CASE("Machine: adds versions of libraries, and sampled GPUs if the drivers list none") {
  static takt::detail::LibraryVersion mpi{"mpi", "Open MPI v4.1.4, package: Debian"};
  static takt::detail::LibraryVersion cuda{"cuda_driver", "12.4"};
  add_library_version(mpi);
  add_library_version(cuda);
  takt::Sensor gpu;
  gpu.model = "NVIDIA H200";
  takt::Sensor process;
  process.kind = takt::Sensor::Kind::process;
  process.model = "none";
  MachineInfo machine;
  add_later({process, gpu, gpu}, machine);
  CHECK(machine.libraries == std::vector<std::pair<std::string, std::string>>{
                                 {"cuda_driver", "12.4"}, {"mpi", "Open MPI v4.1.4"}});  // newest first
  CHECK(machine.gpus == Texts{"NVIDIA H200", "NVIDIA H200"});
  machine.gpus = {"of the driver"};
  add_later({gpu}, machine);
  CHECK(machine.gpus == Texts{"of the driver"});
}

TEST_CASE("Machine: a Session records this process, without its command if that is off") {
  const Scratch scratch;
  takt::SessionOptions options;
  options.directory = scratch.path("runs");
  options.table = false;
  options.command_line = GENERATE(true, false);
  takt::Session session("machine", options);
  const MachineInfo machine = session.snapshot().run.machine;
  CHECK(machine.command.empty() == !options.command_line);
  CHECK(machine.logical_cpus.value_or(0) > 0);
  CHECK(machine.host_memory_bytes.value_or(0) > 0);
  CHECK(machine.commit == takt::detail::git_tree().commit);
  session.close();
  const std::string summary = takt_test::read_text(session.run().directory + "/summary.json");
  CHECK(takt_test::contains(summary, "\"command\":null") == !options.command_line);
}
