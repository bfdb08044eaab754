// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include "base/folder_files.hpp"

#include <chrono>
#include <cstdint>
#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Eight letters and digits that nobody else has. Any thread.
std::string new_wandb_id();

/// The folder of runs in `directory`, absolute: ".wandb" where there is one, else "wandb". Any thread.
std::string wandb_root(const std::string& directory);

/// Makes `root` and in it the folder of a run with a folder "files" (0700), none of which was there but `root`. Its
/// path; empty, with `error` saying what failed and what to do, where that cannot be done. One thread at a time.
std::string make_wandb_folder(const std::string& root, std::int64_t start_unix_ns, const std::string& run_id,
                              std::string& error);

/// "cannot <what> <path>: <reason of `number`>; <what to do>". Any thread.
std::string wandb_fault(const char* what, const std::string& path, int number);

/// Makes a file (0600) that must not exist. Each returns false, with errno, where that cannot be done. One thread at a
/// time.
bool write_new_file(const FolderFiles& folder, const std::string& name, const std::string& text);
/// The same with the time line that a run folder has in trace.json; where it can, without copying it. A copy that is
/// not whole by `until` is removed. ENOEXEC: that is no time line of Takt's.
bool attach_time_line(const FolderFiles& from, const FolderFiles& to, std::chrono::steady_clock::time_point until);
/// The file that somebody names by a path below the folder, such as "takt/table.txt"; not open where that leads out of
/// it, or through a link.
Descriptor open_below(const FolderFiles& folder, const std::string& path);
/// The place of a log, as wandb.json names it. False for what Takt's own W&B folders are not called like.
struct WandbPlaceOfLog {
  std::string root;    ///< "<WANDB_DIR>/wandb"
  std::string folder;  ///< "offline-run-<time>-<id>"
  std::string id;
  std::string file;  ///< "run-<id>.wandb"
};
bool parse_place_of_log(const std::string& path, WandbPlaceOfLog& place);

/// Makes a folder (0700, and the set-group-id bit that it inherits) that must not exist. Likewise.
bool make_own_folder(const std::string& path);

/// `text` as one word of a shell. Any thread.
std::string shell_word(const std::string& text);

}  // namespace detail
TAKT_END_NAMESPACE
