// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "trackers/tracker_files.hpp"
#include "wandb/wandb_directory.hpp"
#include "wandb/wandb_rows.hpp"

#include <takt/config.hpp>
#include <takt/snapshot.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {

constexpr std::size_t kWandbBlock = 32768;
constexpr std::size_t kWandbChunkHead = 7;  ///< CRC, length, kind

/// Appends `record` to `log` in the format of a W&B transaction log: in chunks that do not cross the end of a block.
/// \param position file position of the end of `log`. Any thread.
void append_wandb_record(std::string& log, std::uint64_t position, std::string_view record);
/// Returns the file's header, which counts as part of the first block. Any thread.
std::string_view wandb_log_header() noexcept;

/// Writer of a transaction log, a file of complete records. One thread at a time.
class WandbLog : public GrowingFile {
 public:
  /// Creates the file (0600), which must not exist. Returns false, with errno set, on failure.
  bool create(const std::string& path);
  bool create(std::shared_ptr<const DirectoryFiles> directory, const std::string& name);
  void append(std::string_view record);
};

/// Reader of a W&B transaction log, also while it grows: counterpart of WandbLog. One thread at a time.
class WandbLogReader {
 public:
  enum class Found {
    record,
    nothing,  ///< no further complete record, for now or at all
    damage    ///< not a W&B log, or unreadable: problem() has the reason
  };

  /// Appends up to max bytes of the file, from an offset; returns false with errno set on failure.
  using Source = std::function<bool(std::uint64_t, std::size_t, std::string&)>;

  explicit WandbLogReader(std::string path);
  /// \param path for messages.
  WandbLogReader(std::string path, Source source) : path_(std::move(path)), source_(std::move(source)) {}

  /// Reads the next complete record.
  Found next(std::string& record);
  /// Returns the file position after the last record, at which a later writer may append.
  std::uint64_t position() const noexcept { return position_; }
  const std::string& problem() const noexcept { return problem_; }

 private:
  bool has(std::size_t bytes);
  Found damaged(const char* what);

  std::string path_;
  Source source_;
  std::string problem_;
  std::string bytes_;        // file content from begin_ on
  std::uint64_t begin_ = 0;  // file position of a block's start
  std::uint64_t position_ = 0;
};

/// Text entries of a run's summary, which are in no row.
constexpr const char* kWandbFindings = "takt/findings";
constexpr const char* kWandbLost = "takt/lost";
constexpr const char* kWandbRanks = "takt/ranks";
using WandbNotes = std::map<std::string, std::string>;  // JSON, by name

/// Content of an existing log besides its records.
struct WandbOldLog {
  WandbNotes notes;
  WandbSummary summary;  ///< summary of its rows
  /// Position after the last row or system metric line, before the records that end the run; 0: no such line.
  std::uint64_t rows_end = 0;
  std::int64_t rows_records = 0;  ///< number of records up to there
};

/// Checks that the open `log` matches `cursor`: it belongs to `run`, has the id `id`, is owned by this user, and has
/// the same records and rows up to a record that ends at the saved position. The cursor may have been edited. Changes
/// nothing.
/// \param path for messages.
/// \param found set to the log's content.
/// Returns the mismatch, or an empty string. One thread at a time.
std::string wandb_old_log_error(const WandbLog& log, const std::string& path, const WandbCursor& cursor,
                                const RunInfo& run, const std::string& id, WandbOldLog& found);

}  // namespace detail
TAKT_END_NAMESPACE
