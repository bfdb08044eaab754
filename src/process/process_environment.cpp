// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "process/process_environment.hpp"

#include "base/environment.hpp"
#include "base/environment_variable.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr std::pair<std::string_view, ClockChoice> kClocks[] = {
    {"automatic", ClockChoice::automatic},
    {"counter", ClockChoice::counter},
    {"tsc", ClockChoice::counter},  // its name on x86, which earlier versions took alone
    {"monotonic", ClockChoice::monotonic}};

bool set_clock(std::string_view value, ProcessEnvironment& process) {
  for (const auto& [name, clock] : kClocks) {
    if (value == name) {
      process.clock = clock;
      return true;
    }
  }
  return false;
}

std::string get_clock(const ProcessEnvironment& process) {
  const auto* const found = std::find_if(std::begin(kClocks), std::end(kClocks),
                                         [&](const auto& clock) { return clock.second == process.clock; });
  return std::string(found->first);
}

bool set_profiler_rank(std::string_view value, ProcessEnvironment& process) {
  std::int64_t rank = kAllRanks;
  if (value != "all" && !parse_number(value, 0, std::numeric_limits<int>::max() - 1, rank)) { return false; }
  process.profiler_rank = static_cast<int>(rank);
  return true;
}

std::string get_profiler_rank(const ProcessEnvironment& process) {
  return process.profiler_rank == kAllRanks ? "all" : std::to_string(process.profiler_rank);
}

constexpr EnvironmentVariable<ProcessEnvironment> kProcessVariables[] = {
    {"TAKT_CLOCK", "counter, monotonic or automatic", 1, 0, set_clock, get_clock},
    flag_variable<ProcessEnvironment, &ProcessEnvironment::disabled>("TAKT_DISABLE"),
    {"TAKT_PROFILER_RANK", "a rank or all", 1, 0, set_profiler_rank, get_profiler_rank},
};

}  // namespace

ProcessEnvironment read_process_environment() {
  ProcessEnvironment process;
  read_variables(kProcessVariables, process);
  return process;
}

int profiler_rank() noexcept { return read_process_environment().profiler_rank; }

std::vector<std::string_view> process_variable_names() {
  std::vector<std::string_view> names;
  for (const auto& variable : kProcessVariables) { names.emplace_back(variable.name); }
  return names;
}

}  // namespace detail
TAKT_END_NAMESPACE
