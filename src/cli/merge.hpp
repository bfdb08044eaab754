// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/directory_files.hpp"
#include "cli/journal_peek.hpp"
#include "cli/run_directory.hpp"

#include <takt/config.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// A rank for a merged file.
struct RankToMerge {
  std::string run;   ///< directory in the merged file
  std::string rank;  ///< subdirectory of `run`
  RankDirectory directory;
  std::vector<RankDirectory> copies;  ///< copies of the journal or of a part of it; their other files are included
  int number = 0;                     ///< rank number
  bool goes_on = false;               ///< its process is still running
};

/// Selects the ranks of a merged file and their names. A run in several directories counts as one, and duplicate
/// journals are included once. One thread at a time.
class MergePlan {
 public:
  void add(const RunDirectory& run);

  /// Ranks in order of their names.
  std::vector<RankToMerge> ranks() const;
  /// Running processes, and contradicting journals of one process.
  std::vector<std::string> warnings() const;
  /// Returns true if no journals contradict each other.
  bool is_clear() const noexcept { return is_clear_; }

 private:
  std::string run_of(const RankDirectory& directory, const detail::JournalPeek& peek);
  void add_rank(const RankDirectory& directory);
  bool join(RankToMerge& rank, const RankToMerge& other);

  std::set<std::string> runs_;                    // names of runs with known ids
  std::map<std::string, std::string> by_id_;      // name by id
  std::map<std::string, std::string> by_parent_;  // name by the parent directory of the ranks
  std::map<std::string, std::size_t> known_;      // index into ranks_, by run and journal, or by name without a journal
  std::set<std::string> names_;                   // "<run>/<rank>"
  std::vector<RankToMerge> ranks_;
  std::vector<std::string> warnings_;
  bool is_clear_ = true;
};

struct FileToMerge {
  std::string name;
  std::shared_ptr<const detail::ReadableDirectory> from;
};

/// Files of a rank's directory that go into a merged file: its journal, and Takt's small files on its state. Skips
/// foreign files that only have such a name. A value.
class FilesToMerge {
 public:
  /// Maximum size of a file, in bytes.
  static constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 30U;

  explicit FilesToMerge(const RankToMerge& rank);

  /// Files in order of their names.
  const std::vector<FileToMerge>& all() const noexcept { return all_; }
  /// Latest modification time of the files.
  std::int64_t changed_unix_ns() const noexcept { return changed_unix_ns_; }
  /// Skipped files and the reasons.
  const std::vector<std::string>& warnings() const noexcept { return warnings_; }

 private:
  void add_from(const RankDirectory& directory, bool with_journal);

  std::vector<FileToMerge> all_;
  std::int64_t changed_unix_ns_ = 0;
  std::vector<std::string> warnings_;
};

}  // namespace cli
TAKT_END_NAMESPACE
