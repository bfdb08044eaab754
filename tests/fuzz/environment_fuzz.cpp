// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Uses any bytes as the values of Takt's environment variables and as the run's name. The input is a list of records: a
// byte that selects the variable, and its value up to the next newline. Builds with libFuzzer or with
// standalone_main.cpp.
#include "base/environment.hpp"
#include "base/report_error.hpp"
#include "process/process.hpp"
#include "session/run_identity.hpp"

#include "support/scoped_env.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

using namespace takt;

namespace {

constexpr const char* kVariables[] = {"TAKT_DIR",
                                      "TAKT_FILES",
                                      "TAKT_JOURNAL",
                                      "TAKT_JOURNAL_MB",
                                      "TAKT_CSV_MB",
                                      "TAKT_TABLE",
                                      "TAKT_HTML",
                                      "TAKT_TRACE",
                                      "TAKT_TRACE_EVENTS",
                                      "TAKT_EXIT_MS",
                                      "TAKT_PERIOD_MS",
                                      "TAKT_UNCAUGHT",
                                      "TAKT_WARMUP",
                                      "TAKT_MEMORY_MB",
                                      "TAKT_RUN_ID",
                                      "TAKT_RANK",
                                      "TAKT_WORLD_SIZE",
                                      "TAKT_RANKS",
                                      "TAKT_PROFILER_RANK",
                                      "TAKT_CLOCK",
                                      "TAKT_DISABLE",
                                      "TAKT_NO_SUCH_THING",
                                      "RANK",
                                      "WORLD_SIZE",
                                      "LOCAL_RANK",
                                      "LOCAL_WORLD_SIZE",
                                      "MASTER_ADDR",
                                      "MASTER_PORT",
                                      "TORCHELASTIC_RUN_ID",
                                      "TORCHELASTIC_RESTART_COUNT",
                                      "PMIX_RANK",
                                      "PMIX_NAMESPACE",
                                      "OMPI_COMM_WORLD_RANK",
                                      "OMPI_COMM_WORLD_SIZE",
                                      "PMI_RANK",
                                      "PMI_SIZE",
                                      "MV2_COMM_WORLD_RANK",
                                      "MV2_COMM_WORLD_SIZE",
                                      "PALS_RANKID",
                                      "FLUX_TASK_RANK",
                                      "FLUX_JOB_SIZE",
                                      "SLURM_PROCID",
                                      "SLURM_NTASKS",
                                      "SLURM_JOB_ID",
                                      "SLURM_STEP_ID",
                                      "SLURM_LOCALID",
                                      "SLURM_RESTART_COUNT"};
constexpr std::size_t kVariableCount = sizeof kVariables / sizeof *kVariables;

void require(bool holds, const char* what) {
  if (holds) { return; }
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

void check_component(const std::string& text, std::size_t longest) {
  require(!text.empty() && text.size() <= longest, "a component has 1 to 120 bytes");
  require(text.find("..") == std::string::npos, "no two dots");
  require(text.front() != '.' && text.front() != '-', "does not begin with a dot or a minus");
  require(
      text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == std::string::npos,
      "plain characters only");
  require(detail::path_component(text, longest) == text, "a safe component stays as it is");
}

void check_line(const char* line, void*) {
  require(std::strlen(line) < 2200, "a line is bounded");
  for (; *line != '\0'; ++line) {
    require(static_cast<unsigned char>(*line) >= 0x20 && *line != 0x7F, "a line is one line");
  }
}

void check_options(const SessionOptions& options) {
  require(!options.directory.empty(), "there is a directory");
  require(options.exit_timeout.count() >= 0 && options.period.count() >= 10 && options.warmup >= 0,
          "times and counts in their range");
  require(options.memory_bytes >= 1U << 20U && options.memory_bytes <= std::size_t{1} << 40U, "memory in its range");
  require(options.rank.value_or(0) >= 0 && options.world_size.value_or(1) >= 1, "rank and world size in their range");
}

void check_run(const RunInfo& run) {
  require(run.rank >= 0 && run.world_size > run.rank, "the rank is in the world");
  require(run.local_rank >= 0 && run.attempt >= 0, "numbers of 0 or more");
  require(!run.rank_source.empty() && !run.host.empty() && !run.name.empty(), "nothing is left empty");
  check_component(run.id, 120);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  support::ScopedEnvironment environment;
  detail::forget_errors();
  set_error_handler(check_line);
  std::string_view input(reinterpret_cast<const char*>(data), size);
  std::string name;
  while (!input.empty()) {
    const std::string_view record = input.substr(0, input.find('\n'));
    input.remove_prefix(record.size() < input.size() ? record.size() + 1 : input.size());
    if (record.empty()) { continue; }
    const std::size_t variable = static_cast<unsigned char>(record.front()) % (kVariableCount + 1);
    const std::string value(record.substr(1));
    if (variable == kVariableCount) {
      name = value;
    } else {
      environment.set(kVariables[variable], value);
    }
  }
  const SessionOptions options = SessionOptions::from_env();
  check_options(options);
  detail::read_process_environment();
  check_run(detail::identify_run(name, options));
  check_run(detail::identify_run(name, SessionOptions()));
  check_component(detail::path_component(name, 32), 32);
  set_error_handler(nullptr);
  return 0;
}
