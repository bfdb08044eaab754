// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include "base/json_text.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// The places of the call tree that a page shows: of too many those that took most, with all that they lie in. A page
/// has numbers of its own for them, in the order of its table. A value; one thread at a time.
class PagePaths {
 public:
  static constexpr std::size_t kMost = 200;
  static constexpr std::size_t kMostHistograms = 48;
  static constexpr std::size_t kLongestName = 80;  ///< in columns; a longer one is cut in the middle
  static constexpr int kNone = -1;

  /// \param snapshot has to outlive this.
  explicit PagePaths(const Snapshot& snapshot);

  /// Indices into Snapshot::paths, each behind its parent and in front of the parent's next child.
  const std::vector<std::uint32_t>& shown() const noexcept { return shown_; }
  std::size_t left_out() const noexcept { return snapshot_.paths.size() - shown_.size(); }
  /// Paths that are shown, and whose histogram is not.
  std::size_t without_histogram() const noexcept;
  /// The page's number of a path of the snapshot; kNone: it is not shown, or is none.
  int number(std::uint32_t path) const noexcept { return path < numbers_.size() ? numbers_[path] : kNone; }
  /// The page's numbers of the paths of another snapshot, such as that of one rank of the job, by name and kind.
  std::vector<int> numbers_in(const Snapshot& other) const;

  /// A member for each path, and its histogram in eight classes an octave.
  JsonText json() const;

 private:
  void choose();
  void choose_histograms();

  const Snapshot& snapshot_;
  std::vector<std::uint32_t> shown_;
  std::vector<int> numbers_;
  std::vector<bool> has_histogram_;  // by path
};

}  // namespace detail
TAKT_END_NAMESPACE
