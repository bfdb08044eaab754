// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include "ranks/rank_record.hpp"
#include "ranks/rank_steps.hpp"

#include <string>
#include <string_view>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A series of a rank that has a throughput.
struct RankSeries {
  RankPathName path;   ///< of its Batch
  std::string thread;  ///< its name
  Throughput throughput;
};

/// What one rank is compared by, beside its record: nothing of it can be added up with that of other ranks. A value.
struct GatheredRank {
  JobRank who;
  std::vector<RankSeries> series;
  RankSteps steps;
};

/// Those of the rank that the snapshot is of. Any thread.
std::vector<RankSeries> series_of(const Snapshot& snapshot);

/// As bytes, of the rank that the snapshot is of. Any thread.
/// \param steps pack() of the RankSteps.
std::string pack_rank(const Snapshot& snapshot, std::string_view steps);
/// What pack_rank() has made. Bytes may be anything: throws Error, which says what is wrong with them.
GatheredRank unpack_rank(std::string_view bytes);

}  // namespace detail
TAKT_END_NAMESPACE
