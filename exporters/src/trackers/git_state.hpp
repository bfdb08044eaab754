// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Git state of the directory that a program runs in. Empty: unknown. Uncommitted changes are not detected, because git
/// reads all files for that.
struct GitState {
  std::string root;    ///< absolute path of the work tree
  std::string commit;  ///< hexadecimal
  std::string branch;  ///< "main"; also empty if the commit is not that of a branch
  std::string remote;  ///< address, without user, password and query if they could be a secret
};

/// Reads git's files for `directory` and its parents on the same file system. Runs no program, writes nothing, and
/// reads only a bounded part of regular files. Supports linked work trees, submodules and packed references. Does not
/// support references in a reftable, per-worktree references and symbolic references to others (no commit then), nor
/// addresses that the configuration writes with escapes, includes from other files, or replaces.
/// \param directory empty: the working directory.
/// \param remote whose address is returned; if it does not exist, the first remote's.
/// Any thread. Unreadable data is empty, not an error. Throws std::bad_alloc.
GitState git_state(const std::string& directory = "", const std::string& remote = "origin");

/// Removes credentials from a repository's `address`: "https://user:password@host/path?token" becomes
/// "https://host/path", and "ssh://user:password@host/path" becomes "ssh://user@host/path". "user@host:path" is kept.
/// Returns an empty string if `address` is a command ("ext::..."), has control characters, or could hide a password.
/// Any thread.
std::string without_credentials(const std::string& address);

}  // namespace detail
TAKT_END_NAMESPACE
