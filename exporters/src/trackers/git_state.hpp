// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Git state of the directory that a program runs in. Empty: unknown.
struct GitState {
  std::string root;    ///< absolute path of the work tree
  std::string commit;  ///< hexadecimal
  std::string remote;  ///< address, without user, password and query if they could be a secret
};

/// Reads git's files as git_tree() does (base/git_tree.hpp). Does not support addresses that the configuration writes
/// with escapes, includes from other files, or replaces.
/// \param directory empty: the working directory.
/// \param remote whose address is returned; if it does not exist, the first remote's.
/// Any thread. Unreadable data is empty, not an error. Throws std::bad_alloc.
GitState git_state(const std::string& directory = "", const std::string& remote = "origin");

}  // namespace detail
TAKT_END_NAMESPACE
