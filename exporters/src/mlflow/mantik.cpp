// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "mlflow/mantik.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/json.hpp"
#include "base/json_text.hpp"
#include "base/report_error.hpp"
#include "base/text.hpp"
#include "mlflow/mlflow_messages.hpp"

#include <takt/error.hpp>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// Returns the string members of a JSON object; empty if `text` is not an object.
std::map<std::string, std::string> texts_in(const std::string& text) {
  std::map<std::string, std::string> texts;
  const bool read = walk_json(text, [&](const JsonStop& stop) {
    if (stop.inside.empty() && !stop.name.empty() && stop.is_text()) { texts[stop.name] = stop.text; }
  });
  return read ? texts : std::map<std::string, std::string>();
}

/// Returns whether the text can be sent in an HTTP header.
bool is_token(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char each) { return each > ' ' && each < 127; });
}

/// Parses "+01:30", "-0130", "Z" or nothing, which means UTC.
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

/// Parses ISO 8601 as Python writes it.
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

/// Decodes base64url, up to the first character outside its alphabet.
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
  // If users log in with their e-mail address, the name in the token is not the one that they entered.
  return claims["username"] == claims["sub"] ? "" : claims["username"];
}

namespace {

using std::chrono::steady_clock;

constexpr std::size_t kMaxBytes = 65'536;

void report_unwritable(const std::string& file, const std::string& why) {
  report_error_once("mantik.cache.write", "Mantik's tokens cannot be kept in " + file + " (" + why +
                                              "); each process requests its own. Make the directory writable");
}

}  // namespace

MantikCache::MantikCache(std::string file, std::string username, std::chrono::milliseconds timeout)
    : file_(std::move(file)), username_(std::move(username)), timeout_(timeout) {}

bool MantikCache::refuse(const std::string& why) {
  report_error_once("mantik.cache.read", "the tokens in " + file_ + " are not used: " + why);
  return false;
}

bool MantikCache::read(MantikTokens& tokens) {
  struct stat status = {};
  foreign_ = false;
  if (file_.empty()) { return false; }
  if (::lstat(file_.c_str(), &status) != 0) {
    return errno != ENOENT && refuse("cannot access the file: " + std::system_category().message(errno));
  }
  foreign_ = status.st_uid != ::geteuid();
  if (foreign_) {
    return refuse("the file belongs to another user of this machine; remove it, or set HOME to your own directory");
  }
  std::string text;
  if (!read_from(file_, 0, kMaxBytes, text)) {
    return refuse("the file cannot be read (" + std::system_category().message(errno) + "); remove it");
  }
  MantikTokens found;
  if (!parse_mantik_cache(text, found)) {
    return refuse("the file does not have the format of Mantik's client; new tokens will replace it");
  }
  const std::string user = mantik_user_of(found.access);
  foreign_ = !user.empty() && user != username_;
  if (foreign_) {
    return refuse("they belong to the user " + user + ", and MANTIK_USERNAME is " + username_ + "; set it to " + user +
                  " if that is the same person, or remove the file");
  }
  tokens = std::move(found);
  return true;
}

/// Creates the file's directory if needed. Returns whether files can be created in it.
bool MantikCache::prepare_directory() {
  const std::size_t slash = file_.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : file_.substr(0, slash + 1);
  if (::mkdir(directory.c_str(), S_IRWXU) != 0 && errno != EEXIST) { return false; }
  return ::access(directory.c_str(), W_OK | X_OK) == 0;
}

bool MantikCache::lock() {
  if (file_.empty() || foreign_ || lease_.held()) { return true; }
  if (!has_directory_ && !prepare_directory()) {
    report_unwritable(file_, std::system_category().message(errno));
    file_.clear();
    return true;
  }
  has_directory_ = true;
  if (lease_.take(file_ + ".lease")) { return true; }
  if (lease_.is_broken()) {  // disk full or quota exceeded: waiting would not help
    report_unwritable(file_, lease_.problem().substr(0, lease_.problem().find(';')));
    return true;
  }
  const auto now = steady_clock::now();
  if (patient_until_ == Time()) { patient_until_ = now + timeout_; }
  return now >= patient_until_;
}

void MantikCache::unlock() noexcept {
  lease_.release();
  patient_until_ = Time();
}

void MantikCache::write(const MantikTokens& tokens) {
  if (file_.empty() || foreign_) { return; }
  // Removes a leftover part file, which would otherwise be kept with tokens in it.
  const std::string part = file_ + ".part";
  ::unlink(part.c_str());
  WholeFile file;
  if (file.open(file_) && file.write(format_mantik_cache(tokens)) && file.commit()) { return; }
  ::unlink(part.c_str());
  report_unwritable(file_, file.error().substr(0, file.error().find(';')));
}

namespace {

using std::chrono::milliseconds;

constexpr std::int64_t kMargin_s = 300;      // renew this long before expiry
constexpr std::int64_t kShortest_s = 10;     // minimum use of a new token, even if clocks differ
constexpr std::int64_t kNextRefresh_s = 30;  // delay after a failed refresh while the old token is valid
constexpr milliseconds kPause(50);           // poll interval while another process requests tokens
constexpr std::size_t kMaxReply = 65'536;

std::string without_double_slashes(std::string url) {
  const std::size_t scheme = url.find("://");
  std::size_t at = scheme == std::string::npos ? 0 : scheme + 3;
  while ((at = url.find("//", at)) != std::string::npos) { url.erase(at, 1); }
  return url;
}

/// Returns HTTP options for the token routes. TLS options are the tracking server's: it is the same platform.
HttpOptions api_options(const MlflowOptions& options, const SenderTimes& times) {
  HttpOptions http = mlflow_http_options(options, times.connect, times.total);
  http.url = without_double_slashes(options.mantik.api_url.empty() ? kMantikApi : options.mantik.api_url);
  try {
    check_http_options(http);
  } catch (const Error&) {
    throw Error(
        std::string(
            "MANTIK_API_URL is not an http:// or https:// URL; set it to the URL that issues Mantik's tokens, or ") +
        "unset it for " + kMantikApi);
  }
  http.username.clear();  // drop credentials embedded in the URL
  http.password.clear();
  return http;
}

/// Throws if secrets would be sent unencrypted: every request and response has some.
void must_be_private(HttpOptions options, const char* variable) {
  if (check_http_options(options)) { return; }
  throw Error(std::string(variable) + " is " + options.url +
              ", which would send password and tokens unencrypted; use https, or allow it with "
              "MLFLOW_TRACKING_INSECURE_TLS=true");
}

const MlflowOptions& checked(const MlflowOptions& options, const SenderTimes& times) {
  const MantikOptions& mantik = options.mantik;
  if (mantik.username.empty()) {
    throw Error("MANTIK_PASSWORD is set and MANTIK_USERNAME is not; set it, or unset both");
  }
  if (mantik.password.empty()) {
    throw Error(
        "MANTIK_USERNAME is set and MANTIK_PASSWORD is not; set it to the password of that user at Mantik, or "
        "unset both");
  }
  must_be_private(mlflow_http_options(options, times.connect, times.total), "MLFLOW_TRACKING_URI");
  must_be_private(api_options(options, times), "MANTIK_API_URL");
  return options;
}

std::string cache_file(const MantikOptions& options) {
  if (!options.token_file.empty()) { return options.token_file; }
  const char* const home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') { return ""; }
  // The file cannot record which host issued its tokens, because Mantik's client would reject it.
  const std::string origin = origin_of(without_double_slashes(options.api_url));
  const bool is_default = options.api_url.empty() || origin == origin_of(kMantikApi);
  const std::string of_host = is_default ? "" : "-" + url_encoded(origin.substr(origin.find("://") + 3));
  return std::string(home) + "/.mantik/tokens" + of_host + ".json";
}

HttpRequest token_request(const char* route, const JsonText& body) {
  HttpRequest request;
  request.max_reply = kMaxReply;
  request.method = "POST";
  request.path = std::string("/mantik/tokens/") + route;
  request.content_type = "application/json";
  request.body = body.text();
  return request;
}

}  // namespace

MantikLogin::MantikLogin(const MlflowOptions& options, const SenderTimes& times)
    : times_(times),
      username_(checked(options, times).mantik.username),
      password_(options.mantik.password),
      http_(api_options(options, times)),
      cache_(cache_file(options.mantik), username_, times.other_process),
      backoff_(times) {}

/// Returns whether the token can be sent without a renewal.
bool MantikLogin::good() const { return !tokens_.access.empty() && !rejected_ && times_.unix_s() < good_until_unix_s_; }

/// Returns whether the token can be sent if no new one is available.
bool MantikLogin::still_valid() const {
  return !tokens_.access.empty() && !rejected_ && times_.unix_s() < tokens_.expires_unix_s;
}

/// Adopts tokens that other processes saved. Returns whether the token is good now.
bool MantikLogin::adopt_cached() {
  MantikTokens found;
  if (cache_.read(found) && found.access != tokens_.access && found.expires_unix_s >= tokens_.expires_unix_s) {
    tokens_ = std::move(found);
    rejected_ = false;
    good_until_unix_s_ = tokens_.expires_unix_s - kMargin_s;
  }
  return good();
}

bool MantikLogin::rejected() {
  if (retried_) { return false; }
  retried_ = true;
  rejected_ = true;
  return true;
}

void MantikLogin::start() {
  refreshing_ = !tokens_.refresh.empty();
  http_.start(refreshing_ ? token_request("refresh", {{"username", username_}, {"refresh_token", tokens_.refresh}})
                          : token_request("create", {{"username", username_}, {"password", password_}}));
}

MantikLogin::State MantikLogin::obtain(Time until) {
  if (!http_.busy()) {
    if (good() || adopt_cached()) { return State::ready; }
    if (!cache_.lock()) {
      problem_.clear();
      wait_ = kPause;
      return State::later;
    }
    // The previous lock holder may have saved a token.
    if (adopt_cached()) {
      cache_.unlock();
      return State::ready;
    }
    start();
  }
  HttpReply reply;
  if (!http_.wait(until, reply)) { return State::busy; }
  const State state = answered(reply);
  if (state != State::busy) { cache_.unlock(); }
  return state;
}

MantikLogin::State MantikLogin::answered(const HttpReply& reply) {
  const bool said = reply.status >= 200 && reply.status < 300;
  MantikTokens fresh;
  if (said && parse_mantik_answer(reply.body, fresh)) { return take(std::move(fresh)); }
  if (!said && !mlflow_may_pass(reply.status) && refreshing_) {
    // The refresh token expired or was revoked.
    tokens_.refresh.clear();
    start();
    return State::busy;
  }
  problem_ = trouble(reply);
  if (!said && !mlflow_may_pass(reply.status)) { return State::refused; }
  if (still_valid()) {
    good_until_unix_s_ = std::min(tokens_.expires_unix_s, times_.unix_s() + kNextRefresh_s);
    return State::ready;
  }
  backoff_.failed();
  wait_ = backoff_.wait(reply);
  return State::later;
}

MantikLogin::State MantikLogin::take(MantikTokens fresh) {
  // A refresh response has no new refresh token.
  if (refreshing_) { fresh.refresh = tokens_.refresh; }
  tokens_ = std::move(fresh);
  rejected_ = false;
  const std::int64_t now = times_.unix_s();
  const std::int64_t left = std::max<std::int64_t>(tokens_.expires_unix_s - now, 0);
  good_until_unix_s_ = std::max(tokens_.expires_unix_s - std::min(kMargin_s, left / 2), now + kShortest_s);
  cache_.write(tokens_);
  backoff_.reset();
  return State::ready;
}

/// Describes the error in Takt's own words: a server's text may repeat the secrets that it was sent.
std::string MantikLogin::trouble(const HttpReply& reply) const {
  const std::string there = "Mantik at " + http_.url();
  const int status = reply.status;
  const std::string code = "HTTP " + std::to_string(status);
  if (status == 0) {
    return there + " does not issue a token: " + reply.error + ". Check the network and, if it is set, MANTIK_API_URL";
  }
  if (status == 401 || status == 403) {
    const bool unknown = reply.body.find("user does not exist") != std::string::npos;
    return there + (unknown ? " has no user of that name (" : " rejects the user name or password (") + code +
           "). Set MANTIK_USERNAME and MANTIK_PASSWORD to your login for the platform";
  }
  if (status >= 300 && status < 400) {
    return there + " redirects (" + code + "), which is not followed. Set MANTIK_API_URL to the redirect's target";
  }
  if (status >= 200 && status < 300) { return there + " sent no valid token. Check MANTIK_API_URL"; }
  return there + " does not issue a token (" + code + "). Check MANTIK_API_URL";
}

}  // namespace detail
TAKT_END_NAMESPACE
