// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What git knows of the directory that a program runs in. Empty: not known. Whether files differ from the commit is
/// not
/// known: git reads all of them for that.
struct GitState {
  std::string root;    ///< the directory that is checked out, absolute
  std::string commit;  ///< hexadecimal
  std::string branch;  ///< "main"; empty as well if the commit is not that of a branch
  std::string remote;  ///< its address, without user, password and query, if they could be a secret
};

/// Reads the files of git for `directory` and the directories above it, on the same file system. Runs no program,
/// writes
/// nothing, and reads a bounded part of regular files only. Knows further work trees, submodules and packed references.
/// Does not know references in a reftable, of one work tree alone, or to another one (no commit then), nor addresses
/// that the configuration writes with escapes, includes from elsewhere, or replaces.
/// \param directory empty: the working directory.
/// \param remote whose address is wanted; if there is none of that name, that of the first one.
/// Any thread. Faults are no faults: what cannot be read is empty. Throws std::bad_alloc.
GitState git_state(const std::string& directory = "", const std::string& remote = "origin");

/// `address` of a repository without what gives a right to it: of "https://user:password@host/path?token" only
/// "https://host/path", of "ssh://user:password@host/path" "ssh://user@host/path". "user@host:path" stays. Empty for
/// what is no address but a command ("ext::..."), has control characters, or could hide a password. Any thread.
std::string without_credentials(const std::string& address);

}  // namespace detail
TAKT_END_NAMESPACE
