// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/exporters/mlflow.hpp>

#include "http/backoff.hpp"
#include "http/http.hpp"
#include "http/sender_times.hpp"
#include "mlflow/mantik_cache.hpp"
#include "mlflow/mantik_tokens.hpp"

#include <chrono>
#include <cstdint>
#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {

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
