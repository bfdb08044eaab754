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

/// A rank as it goes into a merged file.
struct RankToMerge {
  std::string run;   ///< its directory in the file
  std::string rank;  ///< in that one
  RankDirectory directory;
  std::vector<RankDirectory> copies;  ///< of the same journal, or of less of it: what else they have goes along
  int number = 0;                     ///< of the rank
  bool goes_on = false;               ///< its process is still there
};

/// Which ranks go into a merged file, and by which names: a run is one whatever directories it is in, and a journal
/// that
/// is there twice goes in once. One thread at a time.
class MergePlan {
 public:
  void add(const RunDirectory& run);

  /// In order of their names.
  std::vector<RankToMerge> ranks() const;
  /// Processes that go on, and journals of one process that contradict each other.
  std::vector<std::string> warnings() const;
  /// Whether no journals contradict each other.
  bool is_clear() const noexcept { return is_clear_; }

 private:
  std::string run_of(const RankDirectory& directory, const detail::JournalPeek& peek);
  void add_rank(const RankDirectory& directory);
  bool join(RankToMerge& rank, const RankToMerge& other);

  std::set<std::string> runs_;                    // names of those whose ids are known
  std::map<std::string, std::string> by_id_;      // such a name
  std::map<std::string, std::string> by_parent_;  // the same by the directory that the ranks lie in
  std::map<std::string, std::size_t> known_;      // which of ranks_, by run and journal, or name where it has none
  std::set<std::string> names_;                   // "<run>/<rank>"
  std::vector<RankToMerge> ranks_;
  std::vector<std::string> warnings_;
  bool is_clear_ = true;
};

struct FileToMerge {
  std::string name;
  std::shared_ptr<const detail::ReadableDirectory> from;
};

/// Of what lies in the directory of a rank that which goes into a merged file: its journal, and the small files of
/// Takt's
/// that say how it stands. Anybody may have put files there: what only has the name of one of Takt's stays out. A
/// value.
class FilesToMerge {
 public:
  /// No longer file goes in.
  static constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 30U;

  explicit FilesToMerge(const RankToMerge& rank);

  /// In order of their names.
  const std::vector<FileToMerge>& all() const noexcept { return all_; }
  /// When the youngest of them was written last.
  std::int64_t changed_unix_ns() const noexcept { return changed_unix_ns_; }
  /// What stays out, and why.
  const std::vector<std::string>& warnings() const noexcept { return warnings_; }

 private:
  void add_from(const RankDirectory& directory, bool with_journal);

  std::vector<FileToMerge> all_;
  std::int64_t changed_unix_ns_ = 0;
  std::vector<std::string> warnings_;
};

}  // namespace cli
TAKT_END_NAMESPACE
