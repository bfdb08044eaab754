// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <string>
#include <string_view>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Where W&B is, unless the options say otherwise.
constexpr const char* kWandbUrl = "https://api.wandb.ai";

// All: any thread, but see variable() of variables.hpp.

/// Why W&B would not take the key, which is not repeated; empty: it may. The rule is that of its own client.
std::string wandb_key_problem(const std::string& key);

/// The password of `machine` in the text of a netrc; empty where there is none. An entry "default" does not count: a
/// key is for one host.
std::string netrc_password(std::string_view text, const std::string& machine);

/// The key in NETRC, ~/.netrc or ~/_netrc, whichever is there first, for the host and port of `base_url`; empty where
/// there is none. A file that others can read is used, and one line says so.
std::string wandb_netrc_key(const std::string& base_url);

}  // namespace detail
TAKT_END_NAMESPACE
