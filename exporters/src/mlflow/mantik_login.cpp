// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "mlflow/mantik_login.hpp"

#include <takt/error.hpp>

#include "base/json_text.hpp"
#include "mlflow/mlflow_messages.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t kMargin_s = 300;      // before a token ends
constexpr std::int64_t kShortest_s = 10;     // for which a new one is used, whatever the clocks say
constexpr std::int64_t kNextRefresh_s = 30;  // after one that failed, while the old token is valid
constexpr milliseconds kPause(50);           // while another process asks
constexpr std::size_t kMostReply = 65'536;

std::string without_double_slashes(std::string url) {
  const std::size_t scheme = url.find("://");
  std::size_t at = scheme == std::string::npos ? 0 : scheme + 3;
  while ((at = url.find("//", at)) != std::string::npos) { url.erase(at, 1); }
  return url;
}

/// Options for the token routes: TLS as for the tracking server, which is the same platform.
HttpOptions api_options(const MlflowOptions& options, const SenderTimes& times) {
  HttpOptions http = mlflow_http_options(options, times.connect, times.total);
  http.url = without_double_slashes(options.mantik.api_url.empty() ? kMantikApi : options.mantik.api_url);
  try {
    check_http_options(http);
  } catch (const Error&) {
    throw Error(
        std::string("MANTIK_API_URL is not an http:// or https:// URL; set it to where Mantik gives tokens, or ") +
        "unset it for " + kMantikApi);
  }
  http.username.clear();  // of the URL
  http.password.clear();
  return http;
}

/// Everything that is sent is a secret, or comes with one.
void must_be_private(HttpOptions options, const char* variable) {
  if (check_http_options(options)) { return; }
  throw Error(std::string(variable) + " is " + options.url +
              ", where everybody on the way could read password and tokens; use https, or say that you mean it with "
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
  // The file has no place for where its tokens come from: Mantik's client would refuse it.
  const std::string origin = origin_of(without_double_slashes(options.api_url));
  const bool is_default = options.api_url.empty() || origin == origin_of(kMantikApi);
  const std::string of_host = is_default ? "" : "-" + url_encoded(origin.substr(origin.find("://") + 3));
  return std::string(home) + "/.mantik/tokens" + of_host + ".json";
}

HttpRequest token_request(const char* route, const JsonText& body) {
  HttpRequest request;
  request.most_reply = kMostReply;
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

/// Whether the token can be sent without a thought.
bool MantikLogin::good() const { return !tokens_.access.empty() && !rejected_ && times_.unix_s() < good_until_unix_s_; }

/// Whether it could be, if there were no other.
bool MantikLogin::still_valid() const {
  return !tokens_.access.empty() && !rejected_ && times_.unix_s() < tokens_.expires_unix_s;
}

/// Takes over what other processes have left. Returns whether there is a good token now.
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
    // Whoever had the lock before may have left a token.
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
    // It has ended, or was taken back.
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
  // There is no new one with a refreshed token.
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

/// In words of Takt's own: what a server says may repeat what it was sent.
std::string MantikLogin::trouble(const HttpReply& reply) const {
  const std::string there = "Mantik at " + http_.url();
  const int status = reply.status;
  const std::string code = "HTTP " + std::to_string(status);
  if (status == 0) {
    return there + " gives no token: " + reply.error + ". Check the network and, if it is set, MANTIK_API_URL";
  }
  if (status == 401 || status == 403) {
    const bool unknown = reply.body.find("user does not exist") != std::string::npos;
    return there + (unknown ? " has no user of that name (" : " refuses user name or password (") + code +
           "). Set MANTIK_USERNAME and MANTIK_PASSWORD to what you log in with on the platform";
  }
  if (status >= 300 && status < 400) {
    return there + " redirects (" + code + "), which is not followed. Set MANTIK_API_URL to where it leads";
  }
  if (status >= 200 && status < 300) {
    return there + " answers without a token that can be used. Check MANTIK_API_URL";
  }
  return there + " gives no token (" + code + "). Check MANTIK_API_URL";
}

}  // namespace detail
TAKT_END_NAMESPACE
