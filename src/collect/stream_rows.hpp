// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// When a stream was at the last rows of a series, as far as spans tell. One thread at a time.
class StreamRows {
 public:
  static constexpr std::size_t kMost = 64;
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  static constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::min();

  bool computes = false;  ///< something other than communication, IO and waits was there

  /// \param outermost all that the thread had put there before has ended, too. Of what lies in another region that one
  ///     may go on.
  void add(std::uint64_t row, std::int64_t begin_ns, std::int64_t end_ns, bool outermost) {
    auto at = std::find_if(rows_.begin(), rows_.end(), [row](const OfRow& each) { return each.row >= row; });
    if (at == rows_.end() || at->row != row) { at = rows_.insert(at, {row, begin_ns, kUnknown}); }
    at->begin_ns = std::min(at->begin_ns, begin_ns);
    if (outermost) { at->until_ns = std::max(at->until_ns, end_ns); }
    if (rows_.size() > kMost) { rows_.pop_front(); }
  }
  /// All that rows before this one put there has ended by then, or goes on for at least so long.
  std::int64_t known_until(std::uint64_t row) const noexcept {
    std::int64_t until_ns = kUnknown;
    for (const OfRow& each : rows_) {
      if (each.row < row) { until_ns = std::max(until_ns, each.until_ns); }
    }
    return until_ns;
  }
  /// All that rows up to this one put there has ended by then; kNever: nothing later is known.
  std::int64_t done_with(std::uint64_t row) const noexcept {
    std::int64_t begin_ns = kNever;
    for (const OfRow& each : rows_) {
      if (each.row > row) { begin_ns = std::min(begin_ns, each.begin_ns); }
    }
    return begin_ns;
  }

 private:
  struct OfRow {
    std::uint64_t row;
    std::int64_t begin_ns;
    std::int64_t until_ns;
  };
  std::deque<OfRow> rows_;  // in order
};

}  // namespace detail
TAKT_END_NAMESPACE
