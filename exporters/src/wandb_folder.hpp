// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <chrono>
#include <cstdint>
#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Eight letters and digits that nobody else has. Any thread.
std::string new_wandb_id();

/// The folder of runs in `directory`, absolute: ".wandb" where there is one, else "wandb". Any thread.
std::string wandb_root(const std::string& directory);

/// Makes `root` and in it the folder of a run with a folder "files" (0700), none of which was there but `root`. Its path; empty,
/// with `error` saying what failed and what to do, where that cannot be done. One thread at a time.
std::string make_wandb_folder(const std::string& root, std::int64_t start_unix_ns, const std::string& run_id,
                              std::string& error);

/// "cannot <what> <path>: <reason of `number`>; <what to do>". Any thread.
std::string wandb_fault(const char* what, const std::string& path, int number);

/// Makes a file (0600) that must not exist. Each returns false, with errno, where that cannot be done. One thread at a time.
bool write_new_file(const std::string& path, const std::string& text);
/// The same with what another file has; where it can, without copying it. A copy that is not whole by `until` is removed.
bool link_or_copy(const std::string& from, const std::string& to, std::chrono::steady_clock::time_point until);
/// Makes a folder (0700, and the set-group-id bit that it inherits) that must not exist. Likewise.
bool make_own_folder(const std::string& path);

/// `text` as one word of a shell. Any thread.
std::string shell_word(const std::string& text);

}  // namespace detail
TAKT_END_NAMESPACE
