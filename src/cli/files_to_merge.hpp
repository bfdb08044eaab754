// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include "base/readable_folder.hpp"
#include "cli/merge_plan.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

struct FileToMerge {
  std::string name;
  std::shared_ptr<const detail::ReadableFolder> from;
};

/// Of what lies in the folder of a rank that which goes into a merged file: its journal, and the small files of Takt's
/// that say how it stands. Anybody may have put files there: what only has the name of one of Takt's stays out. A
/// value.
class FilesToMerge {
 public:
  /// No longer file goes in.
  static constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30U;

  explicit FilesToMerge(const RankToMerge& rank);

  /// In order of their names.
  const std::vector<FileToMerge>& all() const noexcept { return all_; }
  /// When the youngest of them was written last.
  std::int64_t changed_unix_ns() const noexcept { return changed_unix_ns_; }
  /// What stays out, and why.
  const std::vector<std::string>& remarks() const noexcept { return remarks_; }

 private:
  void add_from(const RankFolder& folder, bool with_journal);

  std::vector<FileToMerge> all_;
  std::int64_t changed_unix_ns_ = 0;
  std::vector<std::string> remarks_;
};

}  // namespace cli
TAKT_END_NAMESPACE
