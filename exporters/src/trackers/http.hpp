// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/file.hpp"

#include <takt/config.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// How much a server says that it still takes, in the heads of its replies. One thread at a time.
struct HttpRate {
  double remaining = -1;  ///< requests; -1: not told
  double reset_s = -1;    ///< until there are more; likewise

  /// \param line of a head; any.
  void read(std::string_view line);
};

/// Sets libcurl up, before its first use in the process. Any thread.
void set_up_http_library();

/// The sockets of one client's connections. What the program has closed, and has for its own by now, is neither written
/// to nor closed. One thread at a time.
class HttpSockets {
 public:
  /// Returns its number; below 0: there is none.
  int open(int family, int type, int protocol);
  void close(int number);
  /// None of their numbers is that of another file by now. One that is closed is nobody's: libcurl notices.
  bool are_ours() const;
  /// Some that did not come to a connection libcurl closes by itself.
  void forget_closed();
  void forget() { sockets_.clear(); }

 private:
  std::vector<Descriptor> sockets_;
};

class Descriptor;

/// What the user calls the options, for what the user is told.
struct HttpNames {
  const char* cause = "mlflow";  ///< of reports
  const char* url = "MLFLOW_TRACKING_URI";
  const char* credentials = "MLFLOW_TRACKING_TOKEN, _USERNAME or _PASSWORD";
  const char* insecure_tls = "MLFLOW_TRACKING_INSECURE_TLS";
  const char* ca_path = "MLFLOW_TRACKING_SERVER_CERT_PATH";
  const char* client_cert_path = "MLFLOW_TRACKING_CLIENT_CERT_PATH";
  const char* no_url =  ///< what to do where the URL is none
      "Takt speaks to a server only; to see a local directory or database, start one: mlflow server "
      "--backend-store-uri "
      "<what you have> --port 5000, and set MLFLOW_TRACKING_URI=http://127.0.0.1:5000";
};

/// Where requests go, and as whom.
struct HttpOptions {
  std::string url;  ///< http or https; a user and password in it are taken out and used
  std::string username;
  std::string password;
  std::string token;                         ///< used where there is no user name with a password
  bool insecure_tls = false;                 ///< true: the server's certificate is not looked at
  std::string ca_path;                       ///< PEM file of the authorities to trust; wins over insecure_tls
  std::string client_cert_path;              ///< PEM file with certificate and key
  std::chrono::milliseconds connect{5'000};  ///< the most that connecting may take
  std::chrono::milliseconds total{30'000};   ///< the most that a request may take
  HttpNames names{};
};

struct HttpRequest {
  std::string method = "GET";
  std::string path;          ///< appended to the URL; encoded
  std::string content_type;  ///< of `body`
  std::string body;
  std::vector<std::string> headers;        ///< "Name: value"; no control characters
  std::chrono::milliseconds total{0};      ///< instead of that of the options, where it is more
  std::shared_ptr<const Descriptor> file;  ///< sent instead of `body`, where there is one
  bool fresh = false;  ///< on a connection of its own: libcurl may send it twice on a kept one that turns out dead
  std::size_t max_reply = std::size_t{1} << 20U;  ///< bytes of the reply's body
};

struct HttpReply {
  int status = 0;  ///< 0: none came; then `error` says why
  std::string body;
  std::string error;
  bool may_have_arrived = false;   ///< the request: there was a connection
  bool too_long = false;           ///< the reply, of which the rest was not read
  std::string location;            ///< of a redirection, which is never followed: it may lead anywhere
  std::int64_t retry_after_s = 0;  ///< 0: not said, or not understood
  HttpRate rate;
};

/// Takes user and password out of `url`, and its final slash. Returns whether credentials may be sent: not where
/// everybody on the way can read them.
/// \throws takt::Error for what cannot work, saying what to do.
bool check_http_options(HttpOptions& options);
/// Scheme, host in lower case, and port; empty for what is no URL.
std::string origin_of(const std::string& url);
/// Whether `url` leads to the loopback.
bool is_on_this_machine(const std::string& url);
/// `text` with password and token blotted out, also where the password stands as Basic has it.
std::string without_secrets(std::string text, const HttpOptions& options);

/// `text` as one segment of a URL.
std::string url_encoded(std::string_view text);

/// One request at a time, in slices: whoever waits can stop waiting at any time and go on later. A request runs out of
/// time by the time it was waited for. It uses no signals. One thread at a time.
class Http {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// \throws takt::Error for a URL, token or file that cannot work, saying what to do.
  explicit Http(const HttpOptions& options);
  ~Http();
  Http(const Http&) = delete;
  Http& operator=(const Http&) = delete;

  /// From now on this is sent, and neither user nor password. REQUIRES: !busy(); no control characters.
  void set_token(const std::string& token);

  /// REQUIRES: !busy().
  void start(HttpRequest request);
  /// Goes on with the request until `until`. Returns true once, with the reply, when it has ended.
  bool wait(Time until, HttpReply& reply);
  bool busy() const noexcept;

  /// The URL without user, password and a final slash.
  const std::string& url() const noexcept;
  /// For all that is told to anybody.
  std::string without_secrets(std::string text) const;
  /// What a reply says, for people: its status and the beginning of `said`, or why there was none.
  /// \param said by the server; empty: its whole reply.
  std::string reported(const HttpReply& reply, std::string said) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace detail
TAKT_END_NAMESPACE
