// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/text.hpp"
#include "findings/findings.hpp"

#include <takt/snapshot.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <regex>
#include <set>
#include <string>

namespace takt_test {

/// Adds the ways in which sentences may show a figure.
inline void add_ways_to_say(double value, const std::string& unit, std::set<std::string>& ways) {
  using namespace takt::detail;
  if (unit == "ns") { ways.insert(human_time(value)); }
  if (unit.empty()) {
    char text[64];
    std::snprintf(text, sizeof text, "%.1f %%", 100 * value);
    ways.insert({share_text(value), change_text(value), times_text(value), text});
  }
  if (unit.size() > 2 && unit.compare(unit.size() - 2, 2, "/s") == 0) {
    char text[64];
    for (const int digits : {0, 1}) {
      std::snprintf(text, sizeof text, "%.*f", digits, value);
      ways.insert(text);
    }
    ways.insert(human_rate(value));
  }
  if (value == std::floor(value) && std::fabs(value) < 1e15) {
    ways.insert({step_text(static_cast<std::int64_t>(value)), std::to_string(static_cast<std::int64_t>(value))});
    if (value >= 0) { ways.insert(ordinal(static_cast<std::uint64_t>(value))); }
  }
  char one_digit[32];
  std::snprintf(one_digit, sizeof one_digit, "%.1f", value);
  ways.insert(one_digit);
  char short_number[32];
  std::snprintf(short_number, sizeof short_number, "%.4g", value);
  ways.insert(short_number);
}

/// Returns the numbers of a finding's sentence that are neither in its evidence nor in its cost; empty if all are
/// found.
inline std::string numbers_without_evidence(const takt::Finding& finding) {
  std::set<std::string> ways;
  for (const takt::Evidence& each : finding.evidence) {
    add_ways_to_say(each.value, each.unit, ways);
    if (each.name != "step" && each.name != "until_step") { continue; }
    for (const double unit : {10.0, 100.0, 1000.0, 10'000.0}) {  // with all known digits
      add_ways_to_say(std::round(each.value / unit) * unit, each.unit, ways);
    }
  }
  if (finding.cost) {
    for (const double ns : {finding.cost->ns, finding.cost->low_ns, finding.cost->high_ns}) {
      add_ways_to_say(ns, "ns", ways);
    }
    add_ways_to_say(finding.cost->share, "", ways);
  }
  // Matches separate numbers, not parts of names such as "conv2" or "n0123".
  static const std::regex kNumber(
      "(^|[^A-Za-z0-9_.])([+-]?[0-9]+( [0-9]{3})*(\\.[0-9]+)?(st|nd|rd|th| (ns|us|ms|s|min|h|%|\u00D7)(?![A-Za-z]))?)");
  std::string without;
  const std::string& text = finding.sentence;
  for (std::sregex_iterator at(text.begin(), text.end(), kNumber), end; at != end; ++at) {
    const std::string number = (*at)[2];
    if (ways.count(number) == 0) { without += (without.empty() ? "" : ", ") + number; }
  }
  return without.empty() ? "" : without + " in: " + text;
}

}  // namespace takt_test
