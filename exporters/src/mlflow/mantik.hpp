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

/// What Mantik gives for a user's password. Both tokens are secrets.
struct MantikTokens {
  std::string access;   ///< sent with each request to the tracking server
  std::string refresh;  ///< for which there is another access token
  std::int64_t expires_unix_s = 0;
};

// All: any thread.

/// Reads the body of an answer to tokens/create or tokens/refresh; the latter has no refresh token. False where there
/// is no token in it that can be sent, or no time at which it ends.
bool parse_mantik_answer(const std::string& body, MantikTokens& tokens);

/// Reads tokens.json of Mantik's Python client. False where it is not that.
bool parse_mantik_cache(const std::string& text, MantikTokens& tokens);
/// As that client writes it, which reads nothing else.
std::string format_mantik_cache(const MantikTokens& tokens);

/// Whom an access token is for; empty where it does not say so. Not verified, which is the server's part.
std::string mantik_user_of(const std::string& access_token);

/// The file in which a user's processes share their tokens, Mantik's Python client being one of them. It is Mantik's,
/// so that Takt writes there what that client does, but 0600 and whole at once. What cannot be used is told of once.
/// One thread at a time.
class MantikCache {
 public:
  /// \param file empty: nothing is shared.
  /// \param username whose tokens are wanted.
  /// \param patience for another process that asks for tokens.
  MantikCache(std::string file, std::string username, std::chrono::milliseconds timeout);
  ~MantikCache() { unlock(); }
  MantikCache(const MantikCache&) = delete;
  MantikCache& operator=(const MantikCache&) = delete;

  /// False where there are none, or none for this user.
  bool read(MantikTokens& tokens);
  /// Nobody else that asks first is asking for tokens now, or has been for longer than one can wait.
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
  bool foreign_ = false;  // somebody else's, and so not to be written over
  bool has_directory_ = false;
  FileLease lease_;
  Time patient_until_{};
};

/// Why there is nothing to do without an experiment.
constexpr const char* kMantikNoExperiment =
    "Mantik has no default experiment; set MLFLOW_EXPERIMENT_ID to the number of one that was made on its platform, or "
    "MLFLOW_EXPERIMENT_NAME to its name";
/// What to do where not even a new token is taken; the end of a line.
constexpr const char* kMantikCure =
    ". Mantik has just given this token: MLFLOW_TRACKING_URI and MANTIK_API_URL have to be of one platform";

/// The token that requests to a tracking server of Mantik's carry: asked for with user name and password, shared with
/// other processes, and asked for again five minutes before it ends and when the server does not take it. One thread at
/// a time.
class MantikLogin {
 public:
  using Time = std::chrono::steady_clock::time_point;
  enum class State {
    ready,   ///< token() can be sent
    busy,    ///< a request is under way, and goes on in the next call
    later,   ///< not before wait(); problem() says why, unless another process is just asking
    refused  ///< never; problem() says why, and what to do
  };

  /// \throws takt::Error for options that cannot work.
  MantikLogin(const MlflowOptions& options, const SenderTimes& times);

  /// Works until `until` on having a token.
  State obtain(Time until);
  /// A request for a token is under way.
  bool asking() const noexcept { return http_.busy(); }
  const std::string& token() const noexcept { return tokens_.access; }
  std::chrono::milliseconds wait() const noexcept { return wait_; }
  const std::string& problem() const noexcept { return problem_; }

  /// The tracking server did not take token(). Returns whether another one is worth a try: once, until one is
  /// accepted().
  bool rejected();
  void accepted() noexcept { retried_ = false; }
  /// Other processes need not wait for a request that is still under way.
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
  bool rejected_ = false;    // the access token was
  bool retried_ = false;     // since one was accepted
  bool refreshing_ = false;  // by the request under way
  std::chrono::milliseconds wait_{0};
  std::string problem_;
};

}  // namespace detail
TAKT_END_NAMESPACE
