// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "session/session_options.hpp"

#include "base/environment.hpp"
#include "base/report_error.hpp"
#include "base/text.hpp"
#include "process/process.hpp"
#include "session/run_samples.hpp"
#include "session/session_trials.hpp"

#include <takt/session.hpp>
#include <takt/trial_options.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t kMaxInt = std::numeric_limits<int>::max();
constexpr std::size_t kLongestUnknown = 64;
constexpr std::size_t kMaxUnknownShown = 8;

template <auto Member, std::int64_t Low, std::int64_t High, std::int64_t Unit, class Options = SessionOptions>
constexpr EnvironmentVariable<Options> number_variable(const char* name, const char* noun) {
  return {name,
          noun,
          Low,
          High,
          [](std::string_view value, Options& options) {
            std::int64_t parsed = 0;
            if (!parse_number(value, Low, High, parsed)) { return false; }
            options.*Member = static_cast<std::decay_t<decltype(options.*Member)>>(parsed * Unit);
            return true;
          },
          [](const Options& options) {
            const auto& now = options.*Member;
            using Value = std::decay_t<decltype(now)>;
            if constexpr (std::is_same_v<Value, std::optional<int>>) {
              return now ? std::to_string(*now) : std::string("the launcher's");
            } else if constexpr (std::is_same_v<Value, milliseconds>) {
              return std::to_string(now.count());
            } else {
              return std::to_string(static_cast<std::int64_t>(now) / Unit);
            }
          }};
}

template <std::string SessionOptions::*Member>
constexpr EnvironmentVariable<SessionOptions> text_variable(const char* name) {
  return {name,
          "a text",
          1,
          0,
          [](std::string_view value, SessionOptions& options) {
            options.*Member = value;
            return true;
          },
          [](const SessionOptions& options) { return options.*Member; }};
}

bool set_all_ranks(std::string_view value, SessionOptions& options) {
  if (value != "0" && value != "all") { return false; }
  options.all_ranks = value == "all";
  return true;
}

std::string get_all_ranks(const SessionOptions& options) { return options.all_ranks ? "all" : "0"; }

bool set_sample_period(std::string_view value, SessionOptions& options) {
  std::int64_t parsed = 0;
  if (!parse_number(value, 0, RunSamples::kMaxMs, parsed)) { return false; }
  if (parsed != 0 && parsed < RunSamples::kMinMs) { return false; }
  options.sample_period = milliseconds(parsed);
  return true;
}

std::string get_sample_period(const SessionOptions& options) { return std::to_string(options.sample_period.count()); }

using Options = SessionOptions;
constexpr EnvironmentVariable<Options> kSessionVariables[] = {
    flag_variable<Options, &Options::command_line>("TAKT_COMMAND_LINE"),
    number_variable<&Options::csv_bytes, 0, 1 << 20, 1 << 20>("TAKT_CSV_MB", "a number of MiB"),
    text_variable<&Options::directory>("TAKT_DIR"),
    number_variable<&Options::exit_timeout, 0, kMaxInt, 1>("TAKT_EXIT_MS", "a number of milliseconds"),
    flag_variable<Options, &Options::files>("TAKT_FILES"),
    flag_variable<Options, &Options::journal>("TAKT_JOURNAL"),
    number_variable<&Options::journal_bytes, 0, 1 << 20, 1 << 20>("TAKT_JOURNAL_MB", "a number of MiB"),
    flag_variable<Options, &Options::html>("TAKT_HTML"),
    number_variable<&Options::gpu_records, 8, 1 << 16, 1>("TAKT_GPU_RECORDS", "a number of events"),
    number_variable<&Options::memory_bytes, 1, 1 << 20, 1 << 20>("TAKT_MEMORY_MB", "a number of MiB"),
    number_variable<&Options::period, 10, kMaxInt, 1>("TAKT_PERIOD_MS", "a number of milliseconds"),
    flag_variable<Options, &Options::progress>("TAKT_PROGRESS"),
    number_variable<&Options::rank, 0, kMaxInt - 1, 1>("TAKT_RANK", "a rank"),
    {"TAKT_RANKS", "0 or all", 1, 0, set_all_ranks, get_all_ranks},
    text_variable<&Options::run_id>("TAKT_RUN_ID"),
    {"TAKT_SAMPLE_MS", "0, or a number of milliseconds from 10 to 60000", 1, 0, set_sample_period, get_sample_period},
    flag_variable<Options, &Options::end_on_sigterm>("TAKT_SIGTERM"),
    flag_variable<Options, &Options::table>("TAKT_TABLE"),
    flag_variable<Options, &Options::trace>("TAKT_TRACE"),
    number_variable<&Options::trace_events, 0, 1'000'000'000'000, 1>("TAKT_TRACE_EVENTS", "a number of spans"),
    flag_variable<Options, &Options::end_on_uncaught>("TAKT_UNCAUGHT"),
    number_variable<&Options::warmup, 0, kMaxInt, 1>("TAKT_WARMUP", "a number of Batches"),
    number_variable<&Options::world_size, 1, kMaxInt, 1>("TAKT_WORLD_SIZE", "a number of ranks"),
};

std::vector<std::string_view> known_names() {
  std::vector<std::string_view> names = process_variable_names();
  for (const auto& variable : kSessionVariables) { names.emplace_back(variable.name); }
  for (const std::string_view name : trial_variable_names()) { names.push_back(name); }
  for (const char* name : {"TAKT_CONNECT_MS", "TAKT_PROMETHEUS_DIR", "TAKT_TENSORBOARD_DIR"}) {  // for exporters
    names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool begins_with(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }

/// Variables of Takt's build, tests, benchmarks and examples, which are often exported in the same shell.
bool is_ignored(std::string_view name) {
  return name == "TAKT_ENABLED" || begins_with(name, "TAKT_GPU_") || begins_with(name, "TAKT_WITH_") ||
         begins_with(name, "TAKT_BENCH") || begins_with(name, "TAKT_EXAMPLE");
}

/// Returns names only: the value of an unrelated variable may be a secret.
std::vector<std::string> unknown_names(const std::vector<std::string_view>& known) {
  std::vector<std::string> unknown;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view line = *entry;
    const std::size_t equals = line.find('=');
    const std::string_view name = line.substr(0, equals);
    const bool empty = equals == std::string_view::npos || equals + 1 == line.size();
    if (empty || !begins_with(name, "TAKT_") || is_ignored(name)) { continue; }
    if (!std::binary_search(known.begin(), known.end(), name)) {
      unknown.emplace_back(name.substr(0, kLongestUnknown));
    }
  }
  std::sort(unknown.begin(), unknown.end());
  return unknown;
}

void report_unknown_variables() {
  const std::vector<std::string_view> known = known_names();
  const std::vector<std::string> unknown = unknown_names(known);
  if (unknown.empty()) { return; }
  std::string line = "unknown Takt variable: ";
  const std::size_t shown = std::min(unknown.size(), kMaxUnknownShown);
  for (std::size_t index = 0; index < shown; ++index) {
    line.append(index == 0 ? "" : ", ").append(unknown[index]);
    const std::string_view near = nearest(unknown[index], known.data(), known.size());
    if (!near.empty()) { line.append(" (did you mean ").append(near).append("?)"); }
  }
  if (shown < unknown.size()) { line += " and " + std::to_string(unknown.size() - shown) + " more"; }
  line += "; known:";
  for (const std::string_view name : known) { line.append(" ").append(name); }
  report_error_once("environment.unknown", line);
}

}  // namespace

std::string set_option(SessionOptions& options, std::string_view name, std::string_view value) {
  std::vector<std::string_view> known;
  for (const EnvironmentVariable<SessionOptions>& variable : kSessionVariables) {
    known.emplace_back(variable.name);
    if (name != variable.name) { continue; }
    if (variable.set(value, options)) { return {}; }
    return std::string(name).append("=").append(value).append(" is not ").append(expected_by(variable, value));
  }
  std::string line = std::string(name).append(" is no option");
  const std::string_view near = nearest(name, known.data(), known.size());
  return near.empty() ? line : line.append(" (did you mean ").append(near).append("?)");
}

}  // namespace detail

SessionOptions SessionOptions::from_env() {
  SessionOptions options;
  detail::read_variables(detail::kSessionVariables, options);
  detail::report_unknown_variables();
  return options;
}

namespace detail {
namespace {

constexpr std::pair<std::string_view, bool TrialOptions::*> kTrialWords[] = {
    {"io", &TrialOptions::io}, {"synthetic", &TrialOptions::synthetic}, {"full", &TrialOptions::full}};

bool set_one_trial(std::string_view word, TrialOptions& options) {
  bool found = false;
  for (const auto& [name, member] : kTrialWords) {
    if (word != name && word != "all") { continue; }
    options.*member = true;
    found = true;
  }
  return found;
}

bool set_trials(std::string_view value, TrialOptions& options) {
  TrialOptions wanted;
  for (bool more = true; more;) {
    const std::size_t comma = value.find(',');
    if (!set_one_trial(value.substr(0, comma), wanted)) { return false; }
    more = comma != std::string_view::npos;
    if (more) { value.remove_prefix(comma + 1); }
  }
  for (const auto& [name, member] : kTrialWords) { options.*member = wanted.*member; }
  return true;
}

std::string get_trials(const TrialOptions& options) { return options.any() ? "as set by the program" : "no trials"; }

bool set_time_limit(std::string_view value, TrialOptions& options) {
  std::int64_t seconds = 0;
  if (!parse_number(value, 0, kMaxTrialSeconds, seconds)) { return false; }
  options.time_limit = std::chrono::seconds(seconds);
  return true;
}

constexpr EnvironmentVariable<TrialOptions> kTrialVariables[] = {
    {"TAKT_TRIALS", "a comma-separated list of io, synthetic and full, or all", 1, 0, set_trials, get_trials},
    number_variable<&TrialOptions::trials, 1, kMaxTrials, 1, TrialOptions>("TAKT_TRIALS_COUNT", "a number of trials"),
    flag_variable<TrialOptions, &TrialOptions::go_on>("TAKT_TRIALS_GO_ON"),
    number_variable<&TrialOptions::progress_steps, 0, kMaxTrialSteps, 1, TrialOptions>("TAKT_TRIALS_PROGRESS",
                                                                                       "a number of steps"),
    {"TAKT_TRIALS_SECONDS", "a whole number of seconds", 0, kMaxTrialSeconds, set_time_limit,
     [](const TrialOptions& options) {
       return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(options.time_limit).count());
     }},
    number_variable<&TrialOptions::steps, 1, kMaxTrialSteps, 1, TrialOptions>("TAKT_TRIALS_STEPS", "a number of steps"),
    number_variable<&TrialOptions::warmup, 0, kMaxTrials, 1, TrialOptions>("TAKT_TRIALS_WARMUP", "a number of trials"),
};

}  // namespace

std::vector<std::string_view> trial_variable_names() {
  std::vector<std::string_view> names;
  for (const auto& variable : kTrialVariables) { names.emplace_back(variable.name); }
  return names;
}

}  // namespace detail

TrialOptions TrialOptions::from_env() {
  TrialOptions options;
  detail::read_variables(detail::kTrialVariables, options);
  return options;
}

TAKT_END_NAMESPACE
