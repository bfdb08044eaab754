// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "mlflow/mantik_tokens.hpp"

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/json_text.hpp"
#include "base/utc_time.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <ctime>
#include <map>
#include <string_view>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// The texts in an object; none where `text` is not one.
std::map<std::string, std::string> texts_in(const std::string& text) {
  std::map<std::string, std::string> texts;
  const bool read = walk_json(text, [&](const JsonStop& stop) {
    if (stop.inside.empty() && !stop.name.empty() && stop.is_text()) { texts[stop.name] = stop.text; }
  });
  return read ? texts : std::map<std::string, std::string>();
}

/// Whether it can stand in a line of a header.
bool is_token(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char each) { return each > ' ' && each < 127; });
}

/// "+01:30", "-0130", "Z" or nothing, which is UTC.
bool parse_offset(const char* text, std::int64_t& seconds) {
  const char sign = *text;
  if (sign == '\0' || (sign == 'Z' && text[1] == '\0')) { return true; }
  int hours = 0;
  int minutes = 0;
  const bool read =
      std::sscanf(text + 1, "%2d:%2d", &hours, &minutes) == 2 || std::sscanf(text + 1, "%2d%2d", &hours, &minutes) == 2;
  if (!read || (sign != '+' && sign != '-') || hours < 0 || hours > 23 || minutes < 0 || minutes > 59) { return false; }
  seconds = (sign == '+' ? 1 : -1) * (hours * 3600LL + minutes * 60LL);
  return true;
}

/// ISO 8601, as Python writes it.
bool parse_time(const std::string& text, std::int64_t& unix_s) {
  std::tm time = {};
  int end = 0;
  const int found = std::sscanf(text.c_str(), "%4d-%2d-%2d%*1[T ]%2d:%2d:%2d%n", &time.tm_year, &time.tm_mon,
                                &time.tm_mday, &time.tm_hour, &time.tm_min, &time.tm_sec, &end);
  const char* rest = text.c_str() + end;
  if (*rest == '.') { ++rest; }
  while (std::isdigit(static_cast<unsigned char>(*rest)) != 0) { ++rest; }
  std::int64_t offset_s = 0;
  if (found != 6 || end == 0 || !parse_offset(rest, offset_s)) { return false; }
  time.tm_year -= 1900;
  time.tm_mon -= 1;
  unix_s = ::timegm(&time) - offset_s;
  return true;
}

bool read_tokens(const std::string& text, const char* access, const char* refresh, const char* expires,
                 MantikTokens& tokens) {
  std::map<std::string, std::string> texts = texts_in(text);
  tokens.access = texts[access];
  tokens.refresh = texts[refresh];
  return is_token(tokens.access) && parse_time(texts[expires], tokens.expires_unix_s);
}

/// Of the alphabet for URLs; ends at the first character that is not of it.
std::string base64_decoded(const std::string& text) {
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string bytes;
  std::uint32_t pending = 0;
  unsigned count = 0;
  for (const char each : text) {
    const std::size_t value = kAlphabet.find(each);
    if (value == std::string::npos) { break; }
    pending = (pending << 6U) | static_cast<std::uint32_t>(value);
    count += 6;
    if (count < 8) { continue; }
    count -= 8;
    bytes += static_cast<char>((pending >> count) & 0xFFU);
  }
  return bytes;
}

}  // namespace

bool parse_mantik_answer(const std::string& body, MantikTokens& tokens) {
  return read_tokens(body, "AccessToken", "RefreshToken", "ExpiresAt", tokens);
}

bool parse_mantik_cache(const std::string& text, MantikTokens& tokens) {
  return read_tokens(text, "access_token", "refresh_token", "expires_at", tokens);
}

std::string format_mantik_cache(const MantikTokens& tokens) {
  const UtcTime time = utc_time(tokens.expires_unix_s);
  const std::string expires = detail::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}+00:00", time.year, time.month,
                                             time.day, time.hour, time.minute, time.second);
  const JsonText object = {{"access_token", tokens.access}, {"refresh_token", tokens.refresh}, {"expires_at", expires}};
  return object.text();
}

std::string mantik_user_of(const std::string& access_token) {
  // A JWT: header, claims and signature.
  const std::size_t begin = access_token.find('.');
  if (begin == std::string::npos) { return ""; }
  std::map<std::string, std::string> claims = texts_in(base64_decoded(access_token.substr(begin + 1)));
  // Where people log in by their address, it is not the name that they have given.
  return claims["username"] == claims["sub"] ? "" : claims["username"];
}

}  // namespace detail
TAKT_END_NAMESPACE
