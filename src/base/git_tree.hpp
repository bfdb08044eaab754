// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A git work tree. Empty: unknown. Uncommitted changes are not detected, because git reads all files for that.
struct GitTree {
  std::string root;    ///< absolute path
  std::string common;  ///< git's directory that all work trees of the repository share; set with `root`
  std::string commit;  ///< hexadecimal
};

/// Reads git's files for `path` and its parents on the same file system. Runs no program, writes nothing, and reads
/// only a bounded part of regular files. Supports linked work trees, submodules and packed references. Does not
/// support references in a reftable, per-worktree references and symbolic references to others (no commit then).
/// \param path file or directory; empty: the working directory. Links are resolved.
/// Any thread. Unreadable data is empty, not an error. Throws std::bad_alloc.
TAKT_EXPORT GitTree git_tree(const std::string& path = "");

/// Returns the path of the program's file: that of set_program_file(), else /proc/self/exe. Any thread.
TAKT_EXPORT std::string program_file();

/// Returns a file's content; empty if it is missing, not a regular file, or too large. Follows links, as git does. Any
/// thread.
TAKT_EXPORT std::string git_file(const std::string& path);

}  // namespace detail
TAKT_END_NAMESPACE
