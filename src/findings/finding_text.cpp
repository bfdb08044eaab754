// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "findings/finding_text.hpp"

#include "base/format.hpp"
#include "base/text.hpp"

#include <cmath>
#include <cstddef>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// Two digits or more.
std::string two_digits(double value) {
  return std::fabs(value) < 9.95 ? detail::format("{:.1f}", value) : detail::format("{:.0f}", value);
}

}  // namespace

std::string share_text(double share) { return two_digits(100 * share) + " %"; }

std::string change_text(double share) { return (share < 0 ? "" : "+") + share_text(share); }

std::string times_text(double ratio) { return two_digits(ratio) + " \u00d7"; }

std::string ordinal(std::uint64_t number) {
  const std::uint64_t last = number % 10;
  const bool teen = number / 10 % 10 == 1;
  const char* const end = teen || last == 0 || last > 3 ? "th" : last == 1 ? "st" : last == 2 ? "nd" : "rd";
  return human_count(number) + end;
}

std::string step_text(std::int64_t step) {
  return step < 0 ? detail::format("{}", step) : grouped(static_cast<std::uint64_t>(step));
}

std::string list_text(const std::vector<std::string>& names) {
  constexpr std::size_t kMostNames = 3;
  const std::size_t named = names.size() > kMostNames ? kMostNames - 1 : names.size();
  std::string text;
  for (std::size_t at = 0; at < named; ++at) {
    text += (at == 0 ? "" : at + 1 == names.size() ? " and " : ", ") + names[at];
  }
  return named == names.size() ? text : detail::format("{} and {} more", text, names.size() - named);
}

}  // namespace detail
TAKT_END_NAMESPACE
