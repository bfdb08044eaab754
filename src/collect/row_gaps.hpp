// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <set>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Which rows of a series put work on streams that no span tells of. One thread at a time.
class RowGaps {
 public:
  static constexpr std::size_t kMost = 1024;  ///< that are remembered; of rows before them nothing is certain
  static constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();

  /// A row has come from its thread, after those before it. Of rows that have not come nothing is known.
  void came(std::uint64_t row) {
    if (row > next_) {
      add(next_);
      add(row - 1);
    }
    next_ = std::max(next_, row + 1);
  }
  void add(std::uint64_t row) {
    gaps_.insert(row);
    if (gaps_.size() <= kMost) { return; }
    known_from_ = std::max(known_from_, *gaps_.begin() + 1);
    gaps_.erase(gaps_.begin());
  }
  bool knows(std::uint64_t row) const noexcept { return row >= known_from_; }
  /// The last one before `row`, which may be one that is no longer remembered; kNone: there is none.
  std::uint64_t before(std::uint64_t row) const {
    const auto at = gaps_.lower_bound(row);
    return at == gaps_.begin() ? known_from_ - 1 : *std::prev(at);
  }
  /// The first row behind `row` that is one, or has not come.
  std::uint64_t behind(std::uint64_t row) const {
    const auto at = gaps_.upper_bound(row);
    return at == gaps_.end() ? next_ : std::min(*at, next_);
  }

 private:
  std::uint64_t next_ = 0;
  std::uint64_t known_from_ = 0;  // behind the last one that was forgotten; 0 less one is kNone
  std::set<std::uint64_t> gaps_;
};

}  // namespace detail
TAKT_END_NAMESPACE
