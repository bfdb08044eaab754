// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <string>
#include <string_view>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Returns a variable's value, or an empty view if it is unset; valid until the variable changes. Any thread, while no
/// thread changes the environment (as with getenv()).
std::string_view environment_value(const char* name) noexcept;

/// Parses all of `text` as a decimal number from `low` to `high`. Returns false and keeps `number` if that fails.
bool parse_number(std::string_view text, std::int64_t low, std::int64_t high, std::int64_t& number) noexcept;

/// Parses 1, true, on, yes, 0, false, off and no, in any case. Returns false and keeps `flag` for any other value.
bool parse_flag(std::string_view value, bool& flag);

/// Reports "TAKT_EXIT_MS=abc is not <expected>; using <used>", once per variable. Never throws.
void report_bad_value(std::string_view name, std::string_view value, std::string_view expected,
                      std::string_view used) noexcept;

/// An environment variable and the member it sets.
template <class Options>
struct EnvironmentVariable {
  const char* name;
  const char* noun;  ///< completes "TAKT_X=abc is not ..."
  std::int64_t low;  ///< bounds of a number; low > high: not a number
  std::int64_t high;
  bool (*set)(std::string_view value, Options& options);  ///< returns false and changes nothing if the value is invalid
  std::string (*get)(const Options& options);             ///< formatted as the variable's value
};

template <class Options, bool Options::*Member>
constexpr EnvironmentVariable<Options> flag_variable(const char* name) {
  return {name,
          "0 or 1",
          1,
          0,
          [](std::string_view value, Options& options) { return parse_flag(value, options.*Member); },
          [](const Options& options) { return std::string(options.*Member ? "1" : "0"); }};
}

/// Describes the expected value. A very large upper bound is mentioned only if the value exceeded it.
template <class Options>
std::string expected_by(const EnvironmentVariable<Options>& variable, std::string_view value) {
  std::string text = variable.noun;
  if (variable.low > variable.high) { return text; }
  text += " of " + std::to_string(variable.low) + " or more";
  const bool only_digits = value.find_first_not_of("0123456789") == std::string_view::npos;
  const bool report = only_digits || variable.high < std::numeric_limits<int>::max() - 1;
  return report ? text + " and at most " + std::to_string(variable.high) : text;
}

/// Sets options from the environment. Reports invalid values and keeps those options as they are.
template <class Options, std::size_t N>
void read_variables(const EnvironmentVariable<Options> (&variables)[N], Options& options) {
  for (const EnvironmentVariable<Options>& variable : variables) {
    const std::string_view value = environment_value(variable.name);
    if (value.empty() || variable.set(value, options)) { continue; }
    try {
      report_bad_value(variable.name, value, expected_by(variable, value), variable.get(options));
    } catch (const std::bad_alloc&) { report_bad_value(variable.name, value, "a value it can have", "the default"); }
  }
}

/// Formats as "5, 7, 9", with "..." after the sixteenth rank. Any thread.
inline std::string rank_list(const std::vector<std::uint32_t>& ranks) {
  constexpr std::size_t kMaxListed = 16;
  std::string text;
  for (std::size_t at = 0; at < std::min(ranks.size(), kMaxListed); ++at) {
    text += (at == 0 ? "" : ", ") + std::to_string(ranks[at]);
  }
  return ranks.size() > kMaxListed ? text + ", ..." : text;
}

}  // namespace detail
TAKT_END_NAMESPACE
