// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/secrets.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <string_view>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr const char* kMasked = "***";

bool has_end(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// Returns whether an option is named after a secret: "--api-key", "HF_TOKEN", "db.password".
bool names_secret(const std::string& name) {
  std::string word;
  const auto is_secret = [&word] {
    const std::array<const char*, 8> ends = {"key",    "token",      "secret", "password",
                                             "passwd", "passphrase", "pwd",    "auth"};
    return word == "pass" || word == "credentials" || word == "bearer" || word == "authorization" ||
           std::any_of(ends.begin(), ends.end(), [&word](const char* end) { return has_end(word, end); });
  };
  for (const char each : name) {
    const auto byte = static_cast<unsigned char>(each);
    if (std::isalnum(byte) != 0) {
      word += static_cast<char>(std::tolower(byte));
      continue;
    }
    if (is_secret()) { return true; }
    word.clear();
  }
  return is_secret();
}

}  // namespace

std::string without_credentials(const std::string& address) {
  const bool odd =
      std::any_of(address.begin(), address.end(), [](unsigned char each) { return std::iscntrl(each) != 0; });
  const std::size_t helper = address.find("::");
  // "ext::<command>"; in IPv6 addresses "::" follows a bracket.
  if (odd || (helper != std::string::npos && helper < address.find_first_of("/[@"))) { return ""; }
  const std::size_t scheme = address.find("://");
  if (scheme == std::string::npos) {
    // "user@host:path" is the ssh form. A colon before the '@' may be a password.
    const std::size_t at = address.find('@');
    const bool secret = at != std::string::npos && address.find(':') < at;
    return secret ? address.substr(address.rfind('@') + 1) : address;
  }
  const std::size_t begin = scheme + 3;
  std::string place = address.substr(begin, address.find_first_of("?#", begin) - begin);
  std::string_view host(place.data(), std::min(place.find('/'), place.size()));
  // A '/' in a password ends the apparent host.
  const std::size_t colon = host.rfind(':');
  const bool is_port = colon == std::string_view::npos || host.find(']', colon) != std::string_view::npos ||
                       host.find_first_not_of("0123456789", colon + 1) == std::string_view::npos;
  if (host.find('@') == std::string_view::npos && !is_port) { host = place; }
  const std::size_t at = host.rfind('@');
  if (at == std::string_view::npos) {
    // A password may contain '?' or '#'.
    const bool cut_short = place.find('/') == std::string::npos && address.find('@') != std::string::npos;
    return is_port && !cut_short ? address.substr(0, begin) + place : "";
  }
  std::string user = place.substr(0, std::min(place.find(':'), at));
  const bool ssh = address.compare(0, scheme, "ssh") == 0 || address.compare(0, scheme, "git+ssh") == 0;
  user = ssh && !user.empty() ? user + "@" : "";
  return address.substr(0, begin) + user + place.substr(at + 1);
}

std::vector<std::string> without_secrets(std::vector<std::string> args, const std::string& secret) {
  bool next_is_secret = false;
  for (std::string& arg : args) {
    const std::size_t equals = arg.find('=');
    const bool is_option = !arg.empty() && arg.front() == '-';
    if (std::exchange(next_is_secret, false) && !is_option) {
      arg = kMasked;
      continue;
    }
    if (names_secret(arg.substr(0, equals))) {
      if (equals != std::string::npos) { arg = arg.substr(0, equals + 1) + kMasked; }
      next_is_secret = equals == std::string::npos && is_option;
      continue;
    }
    if (arg.find("://") != std::string::npos && arg.find('@') != std::string::npos) {
      const std::size_t begin = equals < arg.find("://") ? equals + 1 : 0;
      arg = arg.substr(0, begin) + without_credentials(arg.substr(begin));
    }
    for (std::size_t at = 0; !secret.empty() && (at = arg.find(secret)) != std::string::npos;) {
      arg.replace(at, secret.size(), kMasked);
    }
  }
  return args;
}

}  // namespace detail
TAKT_END_NAMESPACE
