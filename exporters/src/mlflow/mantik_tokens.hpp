// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

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

}  // namespace detail
TAKT_END_NAMESPACE
