// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "trackers/variables.hpp"

#include "base/fault.hpp"

#include <cctype>
#include <cstdlib>

TAKT_BEGIN_NAMESPACE
namespace detail {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string trimmed(const std::string& text) {
  const char* const blanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(blanks);
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

bool flag(const char* name) {
  std::string value = variable(name);
  for (char& each : value) { each = static_cast<char>(std::tolower(static_cast<unsigned char>(each))); }
  if (value == "true" || value == "1") { return true; }
  if (!value.empty() && value != "false" && value != "0") {
    report_fault_once(std::string("environment.") + name,
                      std::string(name) + " is not true, false, 1 or 0; using false");
  }
  return false;
}

}  // namespace detail
TAKT_END_NAMESPACE
