// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/directory_files.hpp"
#include "trackers/metric_points.hpp"
#include "trackers/tracker.hpp"
#include "wandb/wandb_config.hpp"

#include <takt/config.hpp>
#include <takt/exporters/wandb.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Eight letters and digits that nobody else has. Any thread.
std::string new_wandb_id();

/// The directory of runs in `directory`, absolute: ".wandb" where there is one, else "wandb". Any thread.
std::string wandb_root(const std::string& directory);

/// Makes `root` and in it the directory of a run with a directory "files" (0700), none of which was there but `root`.
/// Its
/// path; empty, with `error` saying what failed and what to do, where that cannot be done. One thread at a time.
std::string make_wandb_directory(const std::string& root, std::int64_t start_unix_ns, const std::string& run_id,
                                 std::string& error);

/// "cannot <what> <path>: <reason of `number`>; <what to do>". Any thread.
std::string wandb_error(const char* what, const std::string& path, int number);

/// Makes a file (0600) that must not exist. Each returns false, with errno, where that cannot be done. One thread at a
/// time.
bool write_new_file(const DirectoryFiles& directory, const std::string& name, const std::string& text);
/// The same with the time line that a run directory has in trace.json; where it can, without copying it. A copy that is
/// not whole by `until` is removed. ENOEXEC: that is no time line of Takt's.
bool attach_time_line(const DirectoryFiles& from, const DirectoryFiles& to,
                      std::chrono::steady_clock::time_point until);
/// The file that somebody names by a path below the directory, such as "takt/table.txt"; not open where that leads out
/// of
/// it, or through a link.
Descriptor open_below(const DirectoryFiles& directory, const std::string& path);
/// The place of a log, as wandb.json names it. False for what Takt's own W&B directories are not called like.
struct WandbPlaceOfLog {
  std::string root;       ///< "<WANDB_DIR>/wandb"
  std::string directory;  ///< "offline-run-<time>-<id>"
  std::string id;
  std::string file;  ///< "run-<id>.wandb"
};
bool parse_place_of_log(const std::string& path, WandbPlaceOfLog& place);

/// Makes a directory (0700, and the set-group-id bit that it inherits) that must not exist. Likewise.
bool make_own_directory(const std::string& path);

/// `text` as one word of a shell. Any thread.
std::string shell_word(const std::string& text);

/// The output of a program, copied while it grows into the directory of its run at W&B: a program that is killed has it
/// there, too. One thread at a time.
class WandbOutput {
 public:
  static constexpr const char* kName = "output.log";
  static constexpr std::uint64_t kMaxBytes = std::uint64_t{64} << 20U;  ///< that are copied, the first ones

  /// \param path of a regular file that is no link; empty: there is none. It need not be there yet.
  explicit WandbOutput(std::string path) : path_(std::move(path)) {}

  /// Copies what is new, at most `most` bytes of it. A fault is reported, and tried again.
  void copy(const DirectoryFiles& to, std::uint64_t max);

 private:
  std::string path_;
  std::uint64_t copied_ = 0;
};

inline constexpr Tracker kWandb{"wandb", "W&B", "takt sync --to wandb", "wandb.json", "wandb.lease"};

/// How far a run was written for W&B, and sent, so that another process can go on. In a file of its own beside the
/// journal; without credentials.
struct WandbCursor {
  std::string log;           ///< the file, absolute; empty: none was begun
  std::string id;            ///< that the program has given, where none was begun; empty: none
  std::uint64_t bytes = 0;   ///< of it that are whole records
  std::int64_t records = 0;  ///< in these
  std::int64_t rows = 0;     ///< likewise
  std::uint64_t events = 0;  ///< likewise: lines of metrics of the system
  std::int64_t start_unix_ns = 0;
  bool every_step = false;
  std::uint64_t first_row = 0;  ///< of those that were seen
  std::uint64_t first_metric = 0;
  std::uint64_t first_sample = 0;
  std::array<std::uint64_t, 4> points{};  ///< by source, but for the job: so many are in it, from the first on
  std::uint64_t job_ranks = 0;            ///< the figures over so many ranks are in it; 0: none are
  bool gap = false;                       ///< there are further ones behind a loss, of which nobody knows the numbers
  bool ended = false;                     ///< the log has its end
  std::string server;                     ///< where it was sent; empty: nowhere
  std::string run;                        ///< there: "entity/project/id"
  std::uint64_t lines = 0;                ///< that are there, of the log
  std::uint64_t sent_events = 0;          ///< likewise
  WandbBehind behind;                     ///< what was there before
  bool complete = false;                  ///< all is there
  std::uint64_t killed_bytes =
      0;  ///< of the journal that was taken for whole, as its process was taken for dead; 0: not
  std::uint64_t killed_rows = 0;  ///< points of rows that do not depend on where it ended
  /// What it has to do with a run of the same id.
  WandbResume resume = WandbResume::unset;
};

/// For a run that was taken for killed and has gone on: what followed from its end is to be written again.
void forget_end(WandbCursor& cursor);

// All: any thread.

std::string format_wandb_cursor(const WandbCursor& cursor);
/// False for a text that is no cursor, or of a newer version.
bool parse_wandb_cursor(const std::string& text, WandbCursor& cursor);

}  // namespace detail
TAKT_END_NAMESPACE
