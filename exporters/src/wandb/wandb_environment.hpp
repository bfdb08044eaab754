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

/// What W&B's page of a run shows of the program and the machine. Empty or 0: not known, or not to be told. Valid
/// UTF-8.
struct WandbEnvironment {
  bool known = false;  ///< false: nothing is told but the code
  std::string os;
  std::string program;            ///< as it was called
  std::vector<std::string> args;  ///< without what looks like a secret
  std::string executable;         ///< its file
  std::string root;               ///< the working directory
  std::string commit;             ///< of the code
  std::string remote;             ///< of the code, without what gives a right to it
  std::int64_t cpus = 0;          ///< cores
  std::int64_t cpus_logical = 0;  ///< that the system has online
  std::int64_t memory_bytes = 0;  ///< of the machine
  std::vector<std::string> gpus;  ///< the model of each
  bool has_nvidia = false;        ///< all of them are NVIDIA's
};

// All: any thread, while no other one changes environment or working directory.

/// Of this process. Reads files of the system and of git; runs no program and wakes no GPU. Faults are no faults: what
/// cannot be read is not known.
/// \param system in front of the system's paths, for tests.
WandbEnvironment wandb_environment(const WandbOptions& options, const std::string& system = "");

/// `args` without the values of options that are called after a secret ("--api-key=x", "--token x"), what `secret` is,
/// and users and passwords in addresses.
std::vector<std::string> without_secrets(std::vector<std::string> args, const std::string& secret);

/// The message of a log's record.
/// \param writer_id tells the processes of a run apart.
Protobuf wandb_environment_message(const WandbEnvironment& environment, const std::string& host,
                                   std::int64_t start_unix_ns, const std::string& writer_id);

/// What such a message says.
struct WandbMetadata {
  std::string json;  ///< as in wandb-metadata.json
  std::string writer_id;
  std::string program;
};
WandbMetadata wandb_metadata(std::string_view message);

}  // namespace detail
TAKT_END_NAMESPACE
