// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "trackers/tracker_names.hpp"

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/json_text.hpp"
#include "base/report_error.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <vector>

#include <pwd.h>
#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr std::size_t kHashLength = 9;  // "_" and 8 digits

bool is_safe(char each) {
  return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') || (each >= '0' && each <= '9') || each == '_' ||
         each == '-' || each == '.' || each == ' ' || each == '/';
}

/// Replaces each unsafe code point with one '_'.
std::string only_safe(std::string_view name) {
  std::string out;
  for (const char each : name) {
    const bool continues = (static_cast<unsigned char>(each) & 0xC0U) == 0x80U;
    if (is_safe(each)) {
      out += each;
    } else if (!continues) {
      out += '_';
    }
  }
  return out;
}

/// Normalizes like posixpath.normpath(), except that ".." removes no parent.
std::string normal(std::string_view name) {
  std::string out;
  while (!name.empty()) {
    const std::string_view segment = name.substr(0, name.find('/'));
    name.remove_prefix(segment.size() < name.size() ? segment.size() + 1 : segment.size());
    if (segment.empty() || segment == "." || segment == "..") { continue; }
    out.append(out.empty() ? "" : "/").append(segment);
  }
  return out;
}

}  // namespace

std::string tracker_name(std::string_view name, std::size_t longest, std::uint32_t salt) {
  std::string out = normal(only_safe(name));
  if (out == name && out.size() <= longest && !out.empty() && salt == 0) { return out; }
  if (out.size() > longest - kHashLength) { out.resize(longest - kHashLength); }
  return out + detail::format("_{:08x}", short_hash(name, salt));
}

std::string valid_utf8(std::string_view text) { return Json::parse(JsonText(text).text()).text(); }

std::string utf8_name(std::string_view name, std::uint32_t salt) {
  std::string out = valid_utf8(name);
  if (out == name && !out.empty() && salt == 0) { return out; }
  return out + detail::format("_{:08x}", short_hash(name, salt));
}

std::string TrackerNames::stem(const std::string& name, std::size_t space) const {
  return takes_utf8_ ? utf8_name(name) : tracker_name(name, kLongest - space);
}

const std::string& TrackerNames::of(const std::string& name) {
  const auto found = safe_.find(name);
  if (found != safe_.end()) { return found->second; }
  const auto with = [&](std::uint32_t salt) {
    return takes_utf8_ ? utf8_name(name, salt) : tracker_name(name, kLongest, salt);
  };
  std::string safe = with(0);
  for (std::uint32_t salt = 1; used_.count(safe) != 0; ++salt) { safe = with(salt); }
  if (safe != name) { ++changed_; }
  used_.insert(safe);
  return safe_.emplace(name, std::move(safe)).first->second;
}

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
    report_error_once(std::string("environment.") + name,
                      std::string(name) + " is not true, false, 1 or 0; using false");
  }
  return false;
}

namespace {

constexpr std::size_t kMaxEntry = std::size_t{1} << 20U;

std::string name_in_database() {
  passwd entry = {};
  passwd* found = nullptr;
  for (std::vector<char> space(4096); space.size() <= kMaxEntry; space.resize(2 * space.size())) {
    const int error = ::getpwuid_r(::getuid(), &entry, space.data(), space.size(), &found);
    if (error == EINTR) { continue; }
    if (error != ERANGE) { return error == 0 && found != nullptr ? entry.pw_name : ""; }
  }
  return "";
}

}  // namespace

std::string user_name() {
  for (const char* const name : {"LOGNAME", "USER", "LNAME", "USERNAME"}) {
    if (std::string value = variable(name); !value.empty()) { return value; }
  }
  return name_in_database();
}

std::string findings_text(const Snapshot& snapshot) { return findings_text(snapshot.findings, "takt/summary.json"); }

std::string findings_text(const std::vector<Finding>& findings, std::string_view rest) {
  constexpr std::size_t kMax = 8;
  std::string text;
  for (std::size_t at = 0; at < std::min(findings.size(), kMax); ++at) {
    text += (at == 0 ? "" : "\n") + findings[at].sentence;
  }
  if (findings.size() > kMax) {
    text += "\n" + std::to_string(findings.size() - kMax) + " more in " + std::string(rest);
  }
  return text;
}

}  // namespace detail
TAKT_END_NAMESPACE
