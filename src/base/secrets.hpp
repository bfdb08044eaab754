// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Removes credentials from a repository's `address`: "https://user:password@host/path?token" becomes
/// "https://host/path", and "ssh://user:password@host/path" becomes "ssh://user@host/path". "user@host:path" is kept.
/// Returns an empty string if `address` is a command ("ext::..."), has control characters, or could hide a password.
/// Any thread.
TAKT_EXPORT std::string without_credentials(const std::string& address);

/// Masks in `args` the values of options named after secrets ("--api-key=x", "--token x"), occurrences of `secret`, and
/// credentials in addresses. Any thread.
TAKT_EXPORT std::vector<std::string> without_secrets(std::vector<std::string> args, const std::string& secret = "");

}  // namespace detail
TAKT_END_NAMESPACE
