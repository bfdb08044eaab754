// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include "cli/run_folder.hpp"
#include "journal/journal_peek.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// A rank as it goes into a merged file.
struct RankToMerge {
  std::string run;   ///< its folder in the file
  std::string rank;  ///< in that one
  RankFolder folder;
  std::vector<RankFolder> copies;  ///< of the same journal, or of less of it: what else they have goes along
  int number = 0;                  ///< of the rank
  bool goes_on = false;            ///< its process is still there
};

/// Which ranks go into a merged file, and by which names: a run is one whatever folders it is in, and a journal that
/// is there twice goes in once. One thread at a time.
class MergePlan {
 public:
  void add(const RunFolder& run);

  /// In order of their names.
  std::vector<RankToMerge> ranks() const;
  /// Processes that go on, and journals of one process that contradict each other.
  std::vector<std::string> remarks() const;
  /// Whether no journals contradict each other.
  bool is_clear() const noexcept { return is_clear_; }

 private:
  std::string run_of(const RankFolder& folder, const detail::JournalPeek& peek);
  void add_rank(const RankFolder& folder);
  bool join(RankToMerge& rank, const RankToMerge& other);

  std::set<std::string> runs_;                    // names of those whose ids are known
  std::map<std::string, std::string> by_id_;      // such a name
  std::map<std::string, std::string> by_parent_;  // the same by the folder that the ranks lie in
  std::map<std::string, std::size_t> known_;      // which of ranks_, by run and journal, or name where it has none
  std::set<std::string> names_;                   // "<run>/<rank>"
  std::vector<RankToMerge> ranks_;
  std::vector<std::string> remarks_;
  bool is_clear_ = true;
};

}  // namespace cli
TAKT_END_NAMESPACE
