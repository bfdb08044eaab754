// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "session/machine.hpp"

#include "base/git_tree.hpp"
#include "base/secrets.hpp"
#include "process/process.hpp"
#include "sample/system_source.hpp"

#include <takt/detail/library_version.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <dirent.h>
#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

#ifdef __clang__
constexpr const char* kCompiler = "clang++ " __clang_version__;
#else
constexpr const char* kCompiler = "g++ " __VERSION__;
#endif

/// Returns the text after "<name>  :" in the first such line; empty if there is none.
std::string_view field_of(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    const std::size_t colon = line.find(':');
    if (colon < line.size() && line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1) == name) {
      return line.substr(std::min(line.find_first_not_of(" \t", colon + 1), line.size()));
    }
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return {};
}

std::optional<std::int64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  return take_number(text, number) ? std::optional(static_cast<std::int64_t>(number)) : std::nullopt;
}

/// Reads the first block of cpuinfo only, because the kernel takes long to write all of a large machine's.
void read_cpu(const KernelFile& file, MachineInfo& machine) {
  machine.cpu = field_of(file.text(), "model name");
  if (const long online = ::sysconf(_SC_NPROCESSORS_ONLN); online > 0) { machine.logical_cpus = online; }
  // Both numbers are of one package. All packages are alike if its CPUs divide those of the machine.
  const std::int64_t cores = number_in(field_of(file.text(), "cpu cores")).value_or(0);
  const std::int64_t siblings = number_in(field_of(file.text(), "siblings")).value_or(0);
  if (cores > 0 && siblings > 0 && machine.logical_cpus && *machine.logical_cpus % siblings == 0) {
    machine.cores = *machine.logical_cpus / siblings * cores;
  }
}

/// Returns the paths of a directory's entries that start with `start`, sorted.
std::vector<std::string> paths_in(const std::string& directory, std::string_view start) {
  std::vector<std::string> paths;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(directory.c_str()), ::closedir);
  while (const dirent* entry = entries == nullptr ? nullptr : ::readdir(entries.get())) {
    const std::string_view name = entry->d_name;
    const bool wanted = name.front() != '.' && name.substr(0, start.size()) == start;
    if (wanted) { paths.push_back(directory + "/" + entry->d_name); }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

void add_gpu(std::string_view model, MachineInfo& machine) {
  if (!model.empty()) { machine.gpus.push_back(std::string(model)); }
}

void read_gpus(const std::string& system, MachineInfo& machine) {
  for (const std::string& gpu : paths_in(system + "/proc/driver/nvidia/gpus", "")) {
    add_gpu(field_of(KernelFile((gpu + "/information").c_str()).text(), "Model"), machine);
  }
  for (const std::string& card : paths_in(system + "/sys/class/drm", "card")) {  // of AMD
    const KernelFile file((card + "/device/product_name").c_str());
    if (card.find('-', card.rfind('/')) == std::string::npos) {  // not a connector
      add_gpu(file.text().substr(0, file.text().find('\n')), machine);
    }
  }
}

std::vector<std::string> words_in(std::string_view text, bool is_cut) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\0'), text.size());
    words.push_back(std::string(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (is_cut) { words.push_back("..."); }
  return words;
}

}  // namespace

MachineInfo read_machine(bool command_line, const std::string& system) {
  MachineInfo machine;
  read_cpu(KernelFile((system + "/proc/cpuinfo").c_str()), machine);
  machine.host_memory_bytes = number_in(field_of(KernelFile((system + "/proc/meminfo").c_str()).text(), "MemTotal"));
  if (machine.host_memory_bytes) { *machine.host_memory_bytes *= 1024; }
  read_gpus(system, machine);
  GitTree tree = git_tree();
  if (tree.root.empty()) {  // a job's working directory often has no sources
    const std::string program = program_file();
    if (!program.empty()) { tree = git_tree(program); }
  }
  machine.commit = tree.commit;
  if (command_line) {
    const KernelFile file((system + "/proc/self/cmdline").c_str());
    machine.command = without_secrets(words_in(file.text(), file.is_full()));
  }
  machine.compiler = kCompiler;
  return machine;
}

void add_later(const std::vector<Sensor>& sensors, MachineInfo& machine) {
  for (const LibraryVersion* at = library_versions(); at != nullptr; at = at->next) {
    std::string version(at->version, std::strcspn(at->version, ",\r\n"));
    std::replace(version.begin(), version.end(), '\t', ' ');
    machine.libraries.emplace_back(at->name, std::move(version));
  }
  if (!machine.gpus.empty()) { return; }
  for (const Sensor& each : sensors) {
    if (each.kind == Sensor::Kind::device) { add_gpu(each.model, machine); }
  }
}

}  // namespace detail
TAKT_END_NAMESPACE
