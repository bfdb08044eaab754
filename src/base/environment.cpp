// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/environment.hpp"

#include "base/report_error.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <system_error>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr std::size_t kLongestShown = 64;

bool matches_any(std::string_view value, std::initializer_list<std::string_view> words) {
  std::string lower(value.substr(0, kLongestShown));
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return std::find(words.begin(), words.end(), lower) != words.end();
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

bool parse_flag(std::string_view value, bool& flag) {
  const bool yes = matches_any(value, {"1", "true", "on", "yes"});
  if (!yes && !matches_any(value, {"0", "false", "off", "no"})) { return false; }
  flag = yes;
  return true;
}

void report_bad_value(std::string_view name, std::string_view value, std::string_view expected,
                      std::string_view used) noexcept {
  report_error_once(Words("environment.", name),
                    Words(name, "=", value.substr(0, kLongestShown), value.size() > kLongestShown ? "..." : "",
                          " is not ", expected, "; using ", used));
}

}  // namespace detail
TAKT_END_NAMESPACE
