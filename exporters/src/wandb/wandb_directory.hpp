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

/// Returns a unique id of eight letters and digits. Any thread.
std::string new_wandb_id();

/// Returns the absolute directory of runs in `directory`: ".wandb" if it exists, else "wandb". Any thread.
std::string wandb_root(const std::string& directory);

/// Creates `root` if needed, and in it a new run directory with a directory "files" (0700). Returns its path. On
/// failure returns an empty string and sets `error` to the reason and the cure. One thread at a time.
std::string make_wandb_directory(const std::string& root, std::int64_t start_unix_ns, const std::string& run_id,
                                 std::string& error);

/// Returns "cannot <what> <path>: <reason of `number`>; <cure>". Any thread.
std::string wandb_error(const char* what, const std::string& path, int number);

/// Creates a file (0600) that must not exist. This and attach_time_line() return false, with errno set, on failure. One
/// thread at a time.
bool write_new_file(const DirectoryFiles& directory, const std::string& name, const std::string& text);
/// Adds the run directory's trace.json, as a hard link if possible. A copy that is incomplete at `until` is removed.
/// ENOEXEC: the file is not a Takt time line.
bool attach_time_line(const DirectoryFiles& from, const DirectoryFiles& to,
                      std::chrono::steady_clock::time_point until);
/// Opens a file by its path below the directory, such as "takt/table.txt". Not open if the path leaves the directory or
/// crosses a link.
Descriptor open_below(const DirectoryFiles& directory, const std::string& path);
/// Location of a log, as in wandb.json. parse_place_of_log() returns false if the path is not in a W&B directory of
/// Takt.
struct WandbPlaceOfLog {
  std::string root;       ///< "<WANDB_DIR>/wandb"
  std::string directory;  ///< "offline-run-<time>-<id>"
  std::string id;
  std::string file;  ///< "run-<id>.wandb"
};
bool parse_place_of_log(const std::string& path, WandbPlaceOfLog& place);

/// Creates a directory (0700, plus an inherited set-group-ID bit) that must not exist. Returns false, with errno set,
/// on failure.
bool make_own_directory(const std::string& path);

/// Quotes `text` as one shell word. Any thread.
std::string shell_word(const std::string& text);

/// Copies a program's output file to its W&B run directory while it grows, so that the output survives a kill. One
/// thread at a time.
class WandbOutput {
 public:
  static constexpr const char* kName = "output.log";
  static constexpr std::uint64_t kMaxBytes = std::uint64_t{64} << 20U;  ///< maximum size of the copy

  /// \param path of a regular file, not a link; empty: no output. The file need not exist yet.
  explicit WandbOutput(std::string path) : path_(std::move(path)) {}

  /// Copies up to `max` new bytes. An error is reported, and the next call retries.
  void copy(const DirectoryFiles& to, std::uint64_t max);

 private:
  std::string path_;
  std::uint64_t copied_ = 0;
};

inline constexpr Tracker kWandb{"wandb", "W&B", "takt sync --to wandb", "wandb.json", "wandb.lease"};

/// Progress of writing and sending a run for W&B, from which another process can resume. Stored in its own file next to
/// the journal; contains no credentials.
struct WandbCursor {
  std::string log;           ///< absolute path of the log; empty: none was started
  std::string id;            ///< id set by the program if no log was started; empty: none
  std::uint64_t bytes = 0;   ///< size of the log's complete records
  std::int64_t records = 0;  ///< number of these records
  std::int64_t rows = 0;     ///< number of rows
  std::uint64_t events = 0;  ///< number of system metric lines
  std::int64_t start_unix_ns = 0;
  bool every_step = false;
  std::uint64_t first_row = 0;  ///< first row that the exporter saw
  std::uint64_t first_metric = 0;
  std::uint64_t first_sample = 0;
  std::array<std::uint64_t, 4> points{};  ///< number of points in the log by source, except the job's
  std::uint64_t job_ranks = 0;            ///< number of ranks whose figures are in the log; 0: none
  bool gap = false;                       ///< the log has further points, with unknown numbers, after dropped data
  bool ended = false;                     ///< the log has its end
  std::string server;                     ///< server that received the log; empty: none
  std::string run;                        ///< "entity/project/id" on the server
  std::uint64_t lines = 0;                ///< number of the log's lines on the server
  std::uint64_t sent_events = 0;          ///< number of its system metric lines on the server
  WandbBehind behind;                     ///< state of the server before the log
  bool complete = false;                  ///< everything was sent
  /// Journal size when its process was considered killed; 0: it was not.
  std::uint64_t killed_bytes = 0;
  std::uint64_t killed_rows = 0;  ///< points of rows that do not depend on where the journal ended
  /// Resume option for a run of the same id.
  WandbResume resume = WandbResume::unset;
};

/// Discards the written end of a run that was considered killed but continued, so that it is written again.
void forget_end(WandbCursor& cursor);

// All functions: any thread.

std::string format_wandb_cursor(const WandbCursor& cursor);
/// Returns false if the text is not a cursor or has a newer version.
bool parse_wandb_cursor(const std::string& text, WandbCursor& cursor);

}  // namespace detail
TAKT_END_NAMESPACE
