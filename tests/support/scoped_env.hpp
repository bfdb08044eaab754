// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdlib>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

namespace support {

/// Sets the given environment variables, removes all others that Takt reads (TAKT_, WANDB_ and those of launchers), and
/// restores the environment at the end. One at a time, or nested; only while the process has one thread.
class ScopedEnvironment {
 public:
  ScopedEnvironment(std::initializer_list<std::pair<const char*, std::string>> variables = {}) : before_(all()) {
    for (const auto& [name, value] : before_) {
      if (matters(name)) { ::unsetenv(name.c_str()); }
    }
    for (const auto& [name, value] : variables) { set(name, value); }
  }
  ~ScopedEnvironment() {
    ::clearenv();
    for (const auto& [name, value] : before_) { ::setenv(name.c_str(), value.c_str(), 1); }
  }
  ScopedEnvironment(const ScopedEnvironment&) = delete;
  ScopedEnvironment& operator=(const ScopedEnvironment&) = delete;

  void set(const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); }
  void unset(const char* name) { ::unsetenv(name); }

 private:
  using Variables = std::vector<std::pair<std::string, std::string>>;

  static Variables all() {
    Variables variables;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
      const std::string_view line = *entry;
      const std::size_t equals = line.find('=');
      if (equals == std::string_view::npos) { continue; }
      variables.emplace_back(line.substr(0, equals), line.substr(equals + 1));
    }
    return variables;
  }

  static bool matters(std::string_view name) {
    for (const std::string_view start : {"TAKT_", "TORCHELASTIC_", "OMPI_", "PMIX_", "PMI_", "MPI_LOCAL", "MV2_",
                                         "PALS_", "FLUX_", "SLURM_", "PBS_", "LSB_", "MASTER_", "WANDB_"}) {
      if (name.substr(0, start.size()) == start) { return true; }
    }
    return name == "RANK" || name == "WORLD_SIZE" || name == "LOCAL_RANK" || name == "LOCAL_WORLD_SIZE";
  }

  Variables before_;
};

}  // namespace support
