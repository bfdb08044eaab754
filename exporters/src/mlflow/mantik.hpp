// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "trackers/backoff.hpp"
#include "trackers/http.hpp"
#include "trackers/tracker_files.hpp"

#include <takt/config.hpp>
#include <takt/exporters/mlflow.hpp>

#include <chrono>
#include <cstdint>
#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Tokens that Mantik issues for a user's password. Both are secrets.
struct MantikTokens {
  std::string access;   ///< sent with each request to the tracking server
  std::string refresh;  ///< exchanged for a new access token
  std::int64_t expires_unix_s = 0;
};

// All functions: any thread.

/// Parses the body of a tokens/create or tokens/refresh response; the latter has no refresh token. Returns false if the
/// body has no valid token or no expiry time.
bool parse_mantik_answer(const std::string& body, MantikTokens& tokens);

/// Parses tokens.json of Mantik's Python client. Returns false if the text has another format.
bool parse_mantik_cache(const std::string& text, MantikTokens& tokens);
/// Formats tokens as Mantik's Python client does, which reads no other format.
std::string format_mantik_cache(const MantikTokens& tokens);

/// Returns the user of an access token, or an empty string if the token does not name one. Does not verify the token.
std::string mantik_user_of(const std::string& access_token);

/// Token file shared by a user's processes, including Mantik's Python client. Takt keeps that client's format, but
/// writes the file atomically and with mode 0600. Unusable files are reported once. One thread at a time.
class MantikCache {
 public:
  /// \param file may be empty: tokens are not shared.
  /// \param username owner of the tokens.
  /// \param timeout limit for waiting while another process requests tokens.
  MantikCache(std::string file, std::string username, std::chrono::milliseconds timeout);
  ~MantikCache() { unlock(); }
  MantikCache(const MantikCache&) = delete;
  MantikCache& operator=(const MantikCache&) = delete;

  /// Returns false if the file has no tokens of this user.
  bool read(MantikTokens& tokens);
  /// Returns whether this process may request tokens: no other process is requesting them, or the timeout is over.
  bool lock();
  void unlock() noexcept;
  void write(const MantikTokens& tokens);

 private:
  using Time = std::chrono::steady_clock::time_point;

  bool refuse(const std::string& why);
  bool prepare_directory();

  std::string file_;
  std::string username_;
  std::chrono::milliseconds timeout_;
  bool foreign_ = false;  // belongs to another user; never overwritten
  bool has_directory_ = false;
  FileLease lease_;
  Time patient_until_{};
};

/// Error message if no experiment is set.
constexpr const char* kMantikNoExperiment =
    "Mantik has no default experiment; set MLFLOW_EXPERIMENT_ID to the number of an experiment created on its "
    "platform, or "
    "MLFLOW_EXPERIMENT_NAME to its name";
/// Remedy if the server rejects even a new token; ends a message.
constexpr const char* kMantikCure =
    ". Mantik has just issued this token: MLFLOW_TRACKING_URI and MANTIK_API_URL must be URLs of one platform";

/// Access token for requests to a Mantik tracking server. Requested with user name and password, shared with other
/// processes, and renewed five minutes before it expires or when the server rejects it. One thread at a time.
class MantikLogin {
 public:
  using Time = std::chrono::steady_clock::time_point;
  enum class State {
    ready,   ///< token() can be sent
    busy,    ///< a request is under way; call again
    later,   ///< retry after wait(); problem() says why, and is empty while another process asks
    refused  ///< never; problem() gives the reason and the cure
  };

  /// \throws takt::Error if the options cannot work.
  MantikLogin(const MlflowOptions& options, const SenderTimes& times);

  /// Tries until `until` to obtain a token.
  State obtain(Time until);
  /// Returns whether a token request is under way.
  bool asking() const noexcept { return http_.busy(); }
  const std::string& token() const noexcept { return tokens_.access; }
  std::chrono::milliseconds wait() const noexcept { return wait_; }
  const std::string& problem() const noexcept { return problem_; }

  /// Records that the tracking server rejected token(). Returns whether to retry with another token: true once, until a
  /// token is accepted().
  bool rejected();
  void accepted() noexcept { retried_ = false; }
  /// Releases the lock, so that other processes need not wait for a request that is still under way.
  void leave() noexcept { cache_.unlock(); }

 private:
  bool good() const;
  bool still_valid() const;
  bool adopt_cached();
  void start();
  State answered(const HttpReply& reply);
  State take(MantikTokens fresh);
  std::string trouble(const HttpReply& reply) const;

  SenderTimes times_;
  std::string username_;
  std::string password_;
  Http http_;
  MantikCache cache_;
  Backoff backoff_;
  MantikTokens tokens_;
  std::int64_t good_until_unix_s_ = 0;
  bool rejected_ = false;    // the server rejected the access token
  bool retried_ = false;     // already retried since the last accepted token
  bool refreshing_ = false;  // the request under way is a refresh
  std::chrono::milliseconds wait_{0};
  std::string problem_;
};

}  // namespace detail
TAKT_END_NAMESPACE
