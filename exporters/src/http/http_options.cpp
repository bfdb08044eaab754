// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/error.hpp>

#include "http/http.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <cctype>
#include <cstdint>

#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

struct FreeUrl {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};

bool has_control(const std::string& text) {
  return std::any_of(text.begin(), text.end(), [](char each) { return static_cast<unsigned char>(each) < 32; });
}

bool is_loopback(const std::string& host) {
  const bool is_address = host.find_first_not_of("0123456789.") == std::string::npos;  // not "127.example.org"
  return host == "localhost" || host == "[::1]" || (is_address && host.compare(0, 4, "127.") == 0);
}

std::string part_of(CURLU* url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, flags) != CURLUE_OK || text == nullptr) { return ""; }
  std::string copy(text);
  curl_free(text);
  return copy;
}

void must_be_readable(const std::string& path, const char* variable) {
  if (!path.empty() && ::access(path.c_str(), R_OK) != 0) {
    throw Error(std::string(variable) + "=" + path + " cannot be read; name a PEM file, or unset it");
  }
}

constexpr std::string_view kBlot = "***";

void blot_out(std::string& text, const std::string& secret) {
  if (secret.empty()) { return; }
  for (std::size_t at = text.find(secret); at != std::string::npos; at = text.find(secret, at + kBlot.size())) {
    text.replace(at, secret.size(), kBlot);
  }
}

std::string base64(const std::string& bytes) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char each : bytes) {
    bits = (bits << 8U) | static_cast<unsigned char>(each);
    for (count += 8; count >= 6; count -= 6) { text += kLetters[(bits >> (count - 6)) & 63U]; }
  }
  if (count > 0) { text += kLetters[(bits << (6 - count)) & 63U]; }
  return text;  // without the = behind it
}

/// Takes user and password out of the URL; what is left is safe to show. Returns whether they are safe to send.
bool read_url(HttpOptions& options) {
  const std::unique_ptr<CURLU, FreeUrl> url(curl_url());
  const CURLUcode code = curl_url_set(url.get(), CURLUPART_URL, options.url.c_str(), CURLU_NON_SUPPORT_SCHEME);
  const std::string scheme = part_of(url.get(), CURLUPART_SCHEME);
  if (code != CURLUE_OK || (scheme != "http" && scheme != "https")) {
    // Not shown: it may hold a password in a place where none is looked for.
    throw Error(std::string(options.names.url) + " is not an http:// or https:// URL. " + options.names.no_url);
  }
  const std::string user = part_of(url.get(), CURLUPART_USER, CURLU_URLDECODE);
  const std::string password = part_of(url.get(), CURLUPART_PASSWORD, CURLU_URLDECODE);
  if (!user.empty() && (options.username.empty() || options.password.empty())) {
    options.username = user;
    options.password = password;
  }
  for (const CURLUPart part :
       {CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_OPTIONS, CURLUPART_FRAGMENT, CURLUPART_QUERY}) {
    curl_url_set(url.get(), part, nullptr, 0);
  }
  options.url = part_of(url.get(), CURLUPART_URL);
  if (!options.url.empty() && options.url.back() == '/') { options.url.pop_back(); }
  return scheme == "https" || is_loopback(part_of(url.get(), CURLUPART_HOST)) || options.insecure_tls;
}

}  // namespace

bool check_http_options(HttpOptions& options) {
  must_be_readable(options.ca_path, options.names.ca_path);
  must_be_readable(options.client_cert_path, options.names.client_cert_path);
  if (has_control(options.token) || has_control(options.username) || has_control(options.password)) {
    throw Error(std::string(options.names.credentials) + " contains a line break or another control character");
  }
  return read_url(options);
}

std::string origin_of(const std::string& url) {
  const std::unique_ptr<CURLU, FreeUrl> parsed(curl_url());
  if (curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK) { return ""; }
  std::string host = part_of(parsed.get(), CURLUPART_HOST);
  for (char& each : host) { each = static_cast<char>(std::tolower(static_cast<unsigned char>(each))); }
  return part_of(parsed.get(), CURLUPART_SCHEME) + "://" + host + ":" +
         part_of(parsed.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT);
}

bool is_on_this_machine(const std::string& url) {
  const std::unique_ptr<CURLU, FreeUrl> parsed(curl_url());
  return curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) == CURLUE_OK &&
         is_loopback(part_of(parsed.get(), CURLUPART_HOST));
}

std::string without_secrets(std::string text, const HttpOptions& options) {
  blot_out(text, options.token);
  blot_out(text, options.password);
  // As it is sent: servers that complain about a header repeat it.
  if (!options.password.empty()) { blot_out(text, base64(options.username + ":" + options.password)); }
  return text;
}

std::string url_encoded(std::string_view text) {
  static const char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (const char each : text) {
    const auto byte = static_cast<unsigned char>(each);
    const bool plain = (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') || (each >= '0' && each <= '9') ||
                       each == '-' || each == '.' || each == '_' || each == '~';
    if (plain) {
      out += each;
    } else {
      out.append({'%', kHex[byte >> 4U], kHex[byte & 15U]});
    }
  }
  return out;
}

}  // namespace detail
TAKT_END_NAMESPACE
