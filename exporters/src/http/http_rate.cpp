// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "http/http_rate.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// -1 for what is none.
double number_in(std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  const double number = std::strtod(copy.c_str(), &end);
  return end == copy.c_str() || !std::isfinite(number) || number < 0 ? -1 : number;
}

/// \param name in small letters.
bool begins_with(std::string_view line, std::string_view name) {
  return line.size() > name.size() && std::equal(name.begin(), name.end(), line.begin(), [](char want, char is) {
           return want == std::tolower(static_cast<unsigned char>(is));
         });
}

}  // namespace

void HttpRate::read(std::string_view line) {
  const std::string_view kRemaining = "ratelimit-remaining:";
  const std::string_view kReset = "ratelimit-reset:";
  if (begins_with(line, kRemaining)) { remaining = number_in(line.substr(kRemaining.size())); }
  if (begins_with(line, kReset)) { reset_s = number_in(line.substr(kReset.size())); }
}

}  // namespace detail
TAKT_END_NAMESPACE
