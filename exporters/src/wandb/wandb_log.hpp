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

/// Appends `record` to `log` as a transaction log of W&B has it: in chunks that do not cross the end of a block.
/// \param position in the file, of the end of `log`. Any thread.
void append_wandb_record(std::string& log, std::uint64_t position, std::string_view record);
/// What such a file begins with; it counts as part of the first block. Any thread.
std::string_view wandb_log_header() noexcept;

/// A transaction log under way: a file of whole records. One thread at a time.
class WandbLog : public GrowingFile {
 public:
  /// Makes the file (0600), which must not exist. Returns false, with errno, where that cannot be done.
  bool create(const std::string& path);
  bool create(std::shared_ptr<const DirectoryFiles> directory, const std::string& name);
  void append(std::string_view record);
};

/// Reads a transaction log of W&B, also while it grows: WandbLog's other half. One thread at a time.
class WandbLogReader {
 public:
  enum class Found {
    record,
    nothing,  ///< whole, yet or for ever
    damage    ///< what is there is no such log, or cannot be read: problem() says why
  };

  /// Appends what is in the file from a number of bytes on, at most so many of them; false with errno.
  using Source = std::function<bool(std::uint64_t, std::size_t, std::string&)>;

  explicit WandbLogReader(std::string path);
  /// \param path for people.
  WandbLogReader(std::string path, Source source) : path_(std::move(path)), source_(std::move(source)) {}

  /// The next whole record.
  Found next(std::string& record);
  /// In the file, of the end of the last record: where another one may be appended once nobody else does.
  std::uint64_t position() const noexcept { return position_; }
  const std::string& problem() const noexcept { return problem_; }

 private:
  bool has(std::size_t bytes);
  Found damaged(const char* what);

  std::string path_;
  Source source_;
  std::string problem_;
  std::string bytes_;        // of the file, from begin_ on
  std::uint64_t begin_ = 0;  // of a block
  std::uint64_t position_ = 0;
};

/// What the summary of a run says in words; that is in no row.
constexpr const char* kWandbFindings = "takt/findings";
constexpr const char* kWandbLost = "takt/lost";
constexpr const char* kWandbRanks = "takt/ranks";
using WandbNotes = std::map<std::string, std::string>;  // JSON, by name

/// What is in an old log, beside its records.
struct WandbOldLog {
  WandbNotes notes;
  WandbSummary summary;  ///< of its rows
  /// Where the last row, or line on the system, ends: behind it stands what a run ends with; 0: there is none.
  std::uint64_t rows_end = 0;
  std::int64_t rows_records = 0;  ///< up to there
};

/// Whether the open `log` is what `cursor` says: that of `run`, under the name `id`, this user's own, with the end of a
/// record where it was left, and as many records and rows up to there. Anybody may have written the cursor, and nothing
/// is changed here.
/// \param path for people.
/// \param found what is in it.
/// Returns why not; empty: it is. One thread at a time.
std::string wandb_old_log_error(const WandbLog& log, const std::string& path, const WandbCursor& cursor,
                                const RunInfo& run, const std::string& id, WandbOldLog& found);

}  // namespace detail
TAKT_END_NAMESPACE
