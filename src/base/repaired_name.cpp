// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/repaired_name.hpp"

#include "base/fault.hpp"
#include "base/short_hash.hpp"
#include "base/text.hpp"
#include "base/words.hpp"

#include <algorithm>
#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr std::size_t kHashDigits = 8;

bool is_control(char byte) noexcept { return static_cast<unsigned char>(byte) < 0x20 || byte == 0x7F; }

}  // namespace

RepairedName::RepairedName(std::string_view name) noexcept {
  if (name.empty()) { name = "(unnamed)"; }
  const bool cut = name.size() > kMostBytes;
  size_ = cut ? kMostBytes - 1 - kHashDigits : name.size();
  // A character of UTF-8 has up to three continuation bytes; where there are more in a row, it is not UTF-8.
  for (int more = 0; more < 3 && size_ < name.size() && is_continuation(name[size_]); ++more) { --size_; }
  for (std::size_t at = 0; at < size_; ++at) { text_[at] = is_control(name[at]) ? '?' : name[at]; }
  if (cut) {  // names that differ only behind the cut stay two
    text_[size_++] = '_';
    const std::uint32_t hash = short_hash(name);
    for (std::size_t digit = kHashDigits; digit-- > 0;) {
      text_[size_++] = "0123456789abcdef"[hash >> 4 * digit & 0xFU];
    }
  }
  text_[size_] = '\0';
}

std::string repaired_name(std::string_view name) { return std::string(RepairedName(name)); }

bool needs_repair(std::string_view name) noexcept {
  return name.empty() || name.size() > RepairedName::kMostBytes || std::any_of(name.begin(), name.end(), is_control);
}

void tell_repaired(const char* cause, const char* what, std::string_view name) noexcept {
  if (!needs_repair(name)) { return; }
  report_fault(cause, Words("the ", what, " \"", RepairedName(name),
                            "\" was given by a name that is empty, longer than 200 bytes, or holds control "
                            "characters; it is reported as written here."));
}

}  // namespace detail
TAKT_END_NAMESPACE
