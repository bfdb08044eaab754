// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "environment.hpp"

#include "fault.hpp"
#include "nearest.hpp"
#include "words.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <new>
#include <vector>

#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr std::int64_t kMaxInt = std::numeric_limits<int>::max();
constexpr std::size_t kLongestShown = 64;
constexpr std::size_t kMostUnknownShown = 8;

/// One variable and the member it sets, for one of the two structs that the environment sets.
template <class Options>
struct Variable {
  const char* name;
  const char* noun;  ///< completes "TAKT_X=abc is not ..."
  std::int64_t low;  ///< bounds of a number; low > high: not a number
  std::int64_t high;
  bool (*set)(std::string_view value, Options& options);  ///< false: not understood, nothing changed
  std::string (*get)(const Options& options);             ///< as the variable would spell it
};

template <auto Member, std::int64_t Low, std::int64_t High, std::int64_t Unit>
constexpr Variable<SessionOptions> number(const char* name, const char* noun) {
  return {name,
          noun,
          Low,
          High,
          [](std::string_view value, SessionOptions& options) {
            std::int64_t parsed = 0;
            if (!parse_number(value, Low, High, parsed)) { return false; }
            options.*Member = static_cast<std::decay_t<decltype(options.*Member)>>(parsed * Unit);
            return true;
          },
          [](const SessionOptions& options) {
            const auto now = static_cast<std::int64_t>(options.*Member) / Unit;
            return now < Low ? std::string("the launcher's") : std::to_string(now);
          }};
}

bool is_one_of(std::string_view value, std::initializer_list<std::string_view> words) {
  std::string lower(value.substr(0, kLongestShown));
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return std::find(words.begin(), words.end(), lower) != words.end();
}

bool parse_flag(std::string_view value, bool& flag) {
  const bool yes = is_one_of(value, {"1", "true", "on", "yes"});
  if (!yes && !is_one_of(value, {"0", "false", "off", "no"})) { return false; }
  flag = yes;
  return true;
}

template <class Options, bool Options::*Member>
constexpr Variable<Options> flag(const char* name) {
  return {name,
          "0 or 1",
          1,
          0,
          [](std::string_view value, Options& options) { return parse_flag(value, options.*Member); },
          [](const Options& options) { return std::string(options.*Member ? "1" : "0"); }};
}

template <std::string SessionOptions::*Member>
constexpr Variable<SessionOptions> text(const char* name) {
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

using ClockChoice = ProcessEnvironment::Clock;
constexpr std::pair<std::string_view, ClockChoice> kClocks[] = {
    {"automatic", ClockChoice::automatic}, {"tsc", ClockChoice::tsc}, {"monotonic", ClockChoice::monotonic}};

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

using Options = SessionOptions;
constexpr Variable<Options> kSessionVariables[] = {
    number<&Options::csv_bytes, 0, 1 << 20, 1 << 20>("TAKT_CSV_MB", "a number of MiB"),
    text<&Options::directory>("TAKT_DIR"),
    number<&Options::exit_ms, 0, kMaxInt, 1>("TAKT_EXIT_MS", "a number of milliseconds"),
    flag<Options, &Options::files>("TAKT_FILES"),
    flag<Options, &Options::journal>("TAKT_JOURNAL"),
    number<&Options::journal_bytes, 0, 1 << 20, 1 << 20>("TAKT_JOURNAL_MB", "a number of MiB"),
    number<&Options::gpu_poll_ms, 0, kMaxInt, 1>("TAKT_GPU_POLL_MS", "a number of milliseconds"),
    flag<Options, &Options::gpu_wait>("TAKT_GPU_WAIT"),
    number<&Options::memory_bytes, 1, 1 << 20, 1 << 20>("TAKT_MEMORY_MB", "a number of MiB"),
    number<&Options::period_ms, 10, kMaxInt, 1>("TAKT_PERIOD_MS", "a number of milliseconds"),
    number<&Options::rank, 0, kMaxInt - 1, 1>("TAKT_RANK", "a rank"),
    {"TAKT_RANKS", "0 or all", 1, 0, set_all_ranks, get_all_ranks},
    text<&Options::run_id>("TAKT_RUN_ID"),
    flag<Options, &Options::end_on_sigterm>("TAKT_SIGTERM"),
    flag<Options, &Options::table>("TAKT_TABLE"),
    flag<Options, &Options::trace>("TAKT_TRACE"),
    number<&Options::trace_events, 0, 1'000'000'000'000, 1>("TAKT_TRACE_EVENTS", "a number of spans"),
    flag<Options, &Options::end_on_uncaught>("TAKT_UNCAUGHT"),
    number<&Options::warmup, 0, kMaxInt, 1>("TAKT_WARMUP", "a number of Batches"),
    number<&Options::world_size, 1, kMaxInt, 1>("TAKT_WORLD_SIZE", "a number of ranks"),
};

bool set_profiler_rank(std::string_view value, ProcessEnvironment& process) {
  std::int64_t rank = kAllRanks;
  if (value != "all" && !parse_number(value, 0, kMaxInt - 1, rank)) { return false; }
  process.profiler_rank = static_cast<int>(rank);
  return true;
}

std::string get_profiler_rank(const ProcessEnvironment& process) {
  return process.profiler_rank == kAllRanks ? "all" : std::to_string(process.profiler_rank);
}

constexpr Variable<ProcessEnvironment> kProcessVariables[] = {
    {"TAKT_CLOCK", "tsc, monotonic or automatic", 1, 0, set_clock, get_clock},
    flag<ProcessEnvironment, &ProcessEnvironment::disabled>("TAKT_DISABLE"),
    {"TAKT_PROFILER_RANK", "a rank or all", 1, 0, set_profiler_rank, get_profiler_rank},
};

/// An upper bound that no sensible value comes near is told only to someone who met it.
template <class Options>
std::string expected(const Variable<Options>& variable, std::string_view value) {
  std::string text = variable.noun;
  if (variable.low > variable.high) { return text; }
  text += " of " + std::to_string(variable.low) + " or more";
  const bool only_digits = value.find_first_not_of("0123456789") == std::string_view::npos;
  const bool tell = only_digits || variable.high < kMaxInt - 1;
  return tell ? text + " and at most " + std::to_string(variable.high) : text;
}

template <class Options, std::size_t N>
void read_variables(const Variable<Options> (&variables)[N], Options& options) {
  for (const Variable<Options>& variable : variables) {
    const std::string_view value = environment_value(variable.name);
    if (value.empty() || variable.set(value, options)) { continue; }
    try {
      report_bad_value(variable.name, value, expected(variable, value), variable.get(options));
    } catch (const std::bad_alloc&) { report_bad_value(variable.name, value, "a value it can have", "the default"); }
  }
}

// ---- variables that do not exist ----

std::vector<std::string_view> known_names() {
  std::vector<std::string_view> names;
  for (const auto& variable : kSessionVariables) { names.emplace_back(variable.name); }
  for (const auto& variable : kProcessVariables) { names.emplace_back(variable.name); }
  std::sort(names.begin(), names.end());
  return names;
}

bool begins_with(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }

/// Variables of Takt's build, tests, benchmarks and examples, which are often exported in the same shell.
bool is_ignored(std::string_view name) {
  return name == "TAKT_ENABLED" || begins_with(name, "TAKT_GPU_") || begins_with(name, "TAKT_WITH_") ||
         begins_with(name, "TAKT_BENCH") || begins_with(name, "TAKT_EXAMPLE");
}

/// Names only: the value of a variable that is not Takt's may be anybody's secret.
std::vector<std::string> unknown_names(const std::vector<std::string_view>& known) {
  std::vector<std::string> unknown;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view line = *entry;
    const std::size_t equals = line.find('=');
    const std::string_view name = line.substr(0, equals);
    const bool empty = equals == std::string_view::npos || equals + 1 == line.size();
    if (empty || !begins_with(name, "TAKT_") || is_ignored(name)) { continue; }
    if (!std::binary_search(known.begin(), known.end(), name)) { unknown.emplace_back(name.substr(0, kLongestShown)); }
  }
  std::sort(unknown.begin(), unknown.end());
  return unknown;
}

void report_unknown_variables() {
  const std::vector<std::string_view> known = known_names();
  const std::vector<std::string> unknown = unknown_names(known);
  if (unknown.empty()) { return; }
  std::string line = "not a variable of Takt: ";
  const std::size_t shown = std::min(unknown.size(), kMostUnknownShown);
  for (std::size_t index = 0; index < shown; ++index) {
    line.append(index == 0 ? "" : ", ").append(unknown[index]);
    line.append(" (nearest: ").append(nearest(unknown[index], known.data(), known.size())).append(")");
  }
  if (shown < unknown.size()) { line += " and " + std::to_string(unknown.size() - shown) + " more"; }
  line += "; known:";
  for (const std::string_view name : known) { line.append(" ").append(name); }
  report_fault_once("environment.unknown", line);
}

}  // namespace

std::string_view environment_value(const char* name) noexcept {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

bool parse_number(std::string_view text, std::int64_t low, std::int64_t high, std::int64_t& number) noexcept {
  std::int64_t parsed = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, parsed);
  if (error != std::errc() || stopped != end || parsed < low || parsed > high) { return false; }
  number = parsed;
  return true;
}

void report_bad_value(std::string_view name, std::string_view value, std::string_view expected,
                      std::string_view used) noexcept {
  report_fault_once(Words("environment.", name),
                    Words(name, "=", value.substr(0, kLongestShown), value.size() > kLongestShown ? "..." : "",
                          " is not ", expected, "; using ", used));
}

ProcessEnvironment read_process_environment() {
  ProcessEnvironment process;
  read_variables(kProcessVariables, process);
  return process;
}

int profiler_rank() noexcept { return read_process_environment().profiler_rank; }

}  // namespace detail

SessionOptions SessionOptions::from_env() {
  SessionOptions options;
  detail::read_variables(detail::kSessionVariables, options);
  detail::report_unknown_variables();
  return options;
}

TAKT_END_NAMESPACE
