// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/trial_options.hpp>

#include "base/environment_variable.hpp"
#include "session/trial_loop.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
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

std::string get_trials(const TrialOptions& options) { return options.any() ? "those of the program" : "no trials"; }

bool set_steps(std::string_view value, TrialOptions& options) {
  std::int64_t steps = 0;
  if (!parse_number(value, 1, kMostTrialSteps, steps)) { return false; }
  options.steps = static_cast<int>(steps);
  return true;
}

bool set_seconds(std::string_view value, TrialOptions& options) {
  std::int64_t seconds = 0;
  if (!parse_number(value, 0, kMostTrialSeconds, seconds)) { return false; }
  options.seconds = static_cast<double>(seconds);
  return true;
}

constexpr EnvironmentVariable<TrialOptions> kTrialVariables[] = {
    {"TAKT_TRIALS", "io, synthetic and full, or some of them, with commas between, or all", 1, 0, set_trials,
     get_trials},
    flag_variable<TrialOptions, &TrialOptions::go_on>("TAKT_TRIALS_GO_ON"),
    {"TAKT_TRIALS_SECONDS", "a whole number of seconds", 0, kMostTrialSeconds, set_seconds,
     [](const TrialOptions& options) { return std::to_string(static_cast<std::int64_t>(options.seconds)); }},
    {"TAKT_TRIALS_STEPS", "a number of steps", 1, kMostTrialSteps, set_steps,
     [](const TrialOptions& options) { return std::to_string(options.steps); }},
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
