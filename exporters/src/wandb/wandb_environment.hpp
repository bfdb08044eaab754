// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/exporters/wandb.hpp>

#include "trackers/protobuf.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Program and machine data on W&B's page of a run. Empty or 0: unknown, or excluded. Valid UTF-8.
struct WandbEnvironment {
  bool known = false;  ///< false: only the code's commit and remote are sent
  std::string os;
  std::string program;            ///< as invoked
  std::vector<std::string> args;  ///< without likely secrets
  std::string executable;         ///< path of the program's file
  std::string root;               ///< the working directory
  std::string commit;             ///< commit of the code
  std::string remote;             ///< remote of the code, without credentials
  std::int64_t cpus = 0;          ///< cores
  std::int64_t cpus_logical = 0;  ///< logical CPUs that are online
  std::int64_t memory_bytes = 0;  ///< memory of the machine
  std::vector<std::string> gpus;  ///< model of each GPU
  bool has_nvidia = false;        ///< all GPUs are from NVIDIA
};

// All functions: any thread, if no other one changes environment or working directory.

/// Returns the data of this process. Reads system files and git's files; runs no program and wakes no GPU. Unreadable
/// data is unknown, not an error.
/// \param system prefix of the system's paths, for tests.
WandbEnvironment wandb_environment(const WandbOptions& options, const std::string& system = "");

/// Returns the message of a log's environment record.
/// \param writer_id identifies the process among those of a run.
Protobuf wandb_environment_message(const WandbEnvironment& environment, const std::string& host,
                                   std::int64_t start_unix_ns, const std::string& writer_id);

/// Content of such a message.
struct WandbMetadata {
  std::string json;  ///< as in wandb-metadata.json
  std::string writer_id;
  std::string program;
};
WandbMetadata wandb_metadata(std::string_view message);

}  // namespace detail
TAKT_END_NAMESPACE
