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

/// Rate limit that a server states in its response headers. One thread at a time.
struct HttpRate {
  double remaining = -1;  ///< requests left; -1: unknown
  double reset_s = -1;    ///< seconds until the limit resets; -1: unknown

  /// \param line any header line.
  void read(std::string_view line);
};

/// Initializes libcurl; call before its first use in the process. Any thread.
void set_up_http_library();

/// The sockets of one client's connections. If the program closed a socket and reused its number, that number is
/// neither written to nor closed. One thread at a time.
class HttpSockets {
 public:
  /// Returns the socket's number, or a negative number on failure.
  int open(int family, int type, int protocol);
  void close(int number);
  /// Returns whether no socket number was reused for another file. A closed number is harmless: libcurl notices.
  bool are_ours() const;
  /// Forgets closed sockets: libcurl itself closes those of failed connections.
  void forget_closed();
  void forget() { sockets_.clear(); }

 private:
  std::vector<Descriptor> sockets_;
};

class Descriptor;

/// User-visible names of the options, for messages.
struct HttpNames {
  const char* cause = "mlflow";  ///< prefix of error causes
  const char* url = "MLFLOW_TRACKING_URI";
  const char* credentials = "MLFLOW_TRACKING_TOKEN, _USERNAME or _PASSWORD";
  const char* insecure_tls = "MLFLOW_TRACKING_INSECURE_TLS";
  const char* ca_path = "MLFLOW_TRACKING_SERVER_CERT_PATH";
  const char* client_cert_path = "MLFLOW_TRACKING_CLIENT_CERT_PATH";
  const char* no_url =  ///< remedy if the URL is not one
      "Takt sends to a server only; to use a local directory or database, start one: mlflow server "
      "--backend-store-uri "
      "<directory or database> --port 5000, and set MLFLOW_TRACKING_URI=http://127.0.0.1:5000";
};

/// Server and credentials for requests.
struct HttpOptions {
  std::string url;  ///< http or https; embedded user and password are removed and used
  std::string username;
  std::string password;
  std::string token;                         ///< used unless both user name and password are set
  bool insecure_tls = false;                 ///< true: the server's certificate is not verified
  std::string ca_path;                       ///< trusted CA certificates (PEM); wins over insecure_tls
  std::string client_cert_path;              ///< client certificate and key (PEM)
  std::chrono::milliseconds connect{5'000};  ///< maximum time to connect
  std::chrono::milliseconds total{30'000};   ///< maximum time of a request
  HttpNames names{};
};

struct HttpRequest {
  std::string method = "GET";
  std::string path;          ///< appended to the URL; encoded
  std::string content_type;  ///< type of `body`
  std::string body;
  std::vector<std::string> headers;        ///< "Name: value"; no control characters
  std::chrono::milliseconds total{0};      ///< overrides the option's total if larger
  std::shared_ptr<const Descriptor> file;  ///< sent instead of `body` if set
  bool fresh = false;                      ///< new connection: on a dead kept connection libcurl may send it twice
  std::size_t max_reply = std::size_t{1} << 20U;  ///< maximum size of the reply's body, in bytes
};

struct HttpReply {
  int status = 0;  ///< 0: no reply; `error` has the reason
  std::string body;
  std::string error;
  bool may_have_arrived = false;   ///< the request, because a connection existed
  bool too_long = false;           ///< the reply was too long, and its rest was not read
  std::string location;            ///< target of a redirect; never followed, because it may lead anywhere
  std::int64_t retry_after_s = 0;  ///< 0: absent or invalid
  HttpRate rate;
};

/// Removes user, password and the final slash from `url`. Returns whether credentials may be sent: not if they would be
/// readable in transit.
/// \throws takt::Error if the options cannot work; the message has the cure.
bool check_http_options(HttpOptions& options);
/// Returns scheme, lower-case host, and port; empty if `url` is invalid.
std::string origin_of(const std::string& url);
/// Returns whether `url` is on the loopback interface.
bool is_on_this_machine(const std::string& url);
/// Masks password and token in `text`, also the password in Basic authentication.
std::string without_secrets(std::string text, const HttpOptions& options);

/// Encodes `text` as one segment of a URL.
std::string url_encoded(std::string_view text);

/// Sends one request at a time, in slices: the caller can stop waiting at any time and continue later. Only time spent
/// in wait() counts towards timeouts. Uses no signals. One thread at a time.
class Http {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// \throws takt::Error if a URL, token or file cannot work; the message has the cure.
  explicit Http(const HttpOptions& options);
  ~Http();
  Http(const Http&) = delete;
  Http& operator=(const Http&) = delete;

  /// Sends this token from now on instead of user and password. REQUIRES: !busy(); no control characters.
  void set_token(const std::string& token);

  /// REQUIRES: !busy().
  void start(HttpRequest request);
  /// Continues the request until `until`. Returns true once, with the reply, when it has ended.
  bool wait(Time until, HttpReply& reply);
  bool busy() const noexcept;

  /// Returns the URL without user, password and final slash.
  const std::string& url() const noexcept;
  /// Masks secrets in any text that is shown.
  std::string without_secrets(std::string text) const;
  /// Describes a reply for users: its status and the start of `said`, or why there was no reply.
  /// \param said the server's message; empty: its whole reply.
  std::string reported(const HttpReply& reply, std::string said) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace detail
TAKT_END_NAMESPACE
