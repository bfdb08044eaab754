// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "measure/mig_slices.hpp"

#include "base/format.hpp"
#include "base/text.hpp"

#include <cmath>
#include <cstddef>

TAKT_BEGIN_NAMESPACE
namespace detail {

std::optional<MigFit> mig_fit(std::optional<std::int64_t> bytes, std::string_view device) {
  for (const MigTable& each : kMigTables) {
    if (!bytes || *bytes <= 0 || each.name != device) { continue; }
    MigFit fit = {&each, "none", {}};
    for (std::size_t at = each.slices.size(); at-- > 0;) {
      const MigSlice& slice = each.slices[at];
      if (static_cast<std::uint64_t>(*bytes) >= slice.memory_bytes) { break; }
      fit.profile = slice.profile;
      fit.shares[at] = static_cast<double>(*bytes) / static_cast<double>(slice.memory_bytes);
    }
    return fit;
  }
  return std::nullopt;
}

std::string mig_text(const MigFit& fit) {
  if (fit.profile == "none") { return detail::format("fits no MIG slice of {}", fit.device->name); }
  std::string text = detail::format("fits {} of {}", fit.profile, fit.device->name);
  const char* separator = ": ";
  for (std::size_t at = 0; at < fit.shares.size(); ++at) {
    if (!fit.shares[at]) { continue; }
    text += detail::format("{}{} of {}", separator, percent(*fit.shares[at], 1), fit.device->slices[at].profile);
    separator = ", ";
  }
  return text;
}

namespace {

bool is_letter_or_digit(char c) noexcept {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/// Returns true if `word` is in `text` between blanks and signs: "H200" is not in "GH200".
bool has_word(std::string_view text, std::string_view word) noexcept {
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool begins = at == 0 || !is_letter_or_digit(text[at - 1]);
    if (begins && (end == text.size() || !is_letter_or_digit(text[end]))) { return true; }
  }
  return false;
}

/// A driver reports 79.6 GiB for "80GB" and 140.4 GiB for "141GB"; names of models often lack the size.
std::string_view mig_device_of(const Sensor& sensor) noexcept {
  constexpr double kTolerance = 0.02;
  const double gib = static_cast<double>(sensor.memory_bytes.value_or(0)) / static_cast<double>(1U << 30U);
  for (const MigTable& each : kMigTables) {
    const std::size_t sign = each.name.find('-');
    double size = 0;
    for (std::size_t at = sign + 1; each.name[at] != 'G'; ++at) { size = 10 * size + (each.name[at] - '0'); }
    if (has_word(sensor.model, each.name.substr(0, sign)) && std::fabs(gib - size) <= kTolerance * size) {
      return each.name;
    }
  }
  return {};
}

}  // namespace

std::string_view mig_device_of(const std::vector<Sensor>& sensors, std::string_view memory_of) noexcept {
  std::string_view all;
  bool is_first = true;
  for (const Sensor& each : sensors) {
    if (each.kind != Sensor::Kind::device) { continue; }
    const std::string_view device = mig_device_of(each);
    if (each.name == memory_of) { return device; }
    all = is_first || all == device ? device : std::string_view();
    is_first = false;
  }
  return memory_of.empty() ? std::string_view() : all;
}

}  // namespace detail
TAKT_END_NAMESPACE
