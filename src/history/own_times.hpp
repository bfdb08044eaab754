// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include <cstdint>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What a region took in one step by itself: what the regions inside it took is left out.
struct OwnTime {
  std::uint32_t path = 0;  ///< index into Snapshot::paths, or Cell::kOther
  std::uint64_t ns = 0;
};

/// Of the regions inside the row's Batch, by path. What lies in none of them is the row's length less all of these.
/// The row is one of `snapshot`. Rows may say anything: nothing wraps or is negative. Any thread.
std::vector<OwnTime> own_times(const Snapshot& snapshot, const Row& row);

/// The same of stream spans, of regions that have one. A region of kind comm inside another one is no part of it: where
/// that pays, communication has streams of its own, beside the computing. Any thread.
std::vector<OwnTime> own_stream_times(const Snapshot& snapshot, const Row& row);

}  // namespace detail
TAKT_END_NAMESPACE
