// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "ranks/rank_record.hpp"
#include "ranks/rank_steps.hpp"

#include <takt/config.hpp>
#include <takt/snapshot.hpp>

#include <cstdint>
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

/// Some ranks of a job, and what they have recorded: together where that adds up, and else beside each other. All of it
/// stays in bytes until it has come to rank 0. A value; one thread at a time.
struct GatheredRanks {
  struct Rank {
    std::uint32_t number = 0;
    std::string bytes;  ///< pack_rank()
  };
  std::vector<Rank> ranks;  ///< ascending
  std::string record;       ///< pack_record() of all of them
};

/// Adds the ranks of `from`. Throws Error where one of them is there already, or a record cannot be; then `part` is as
/// before.
void merge_into(GatheredRanks& part, GatheredRanks from);

/// As bytes. Equal parts give equal bytes.
std::string pack(const GatheredRanks& part);
/// What pack() has made. Bytes may be anything: throws Error, which says what is wrong with them.
GatheredRanks unpack_gathered(std::string_view bytes);

/// Whether the rank is in it.
bool has_rank(const GatheredRanks& part, std::uint32_t rank) noexcept;
/// Of the ranks of a job of `size` those that are not in it, ascending.
std::vector<std::uint32_t> missing_from(const GatheredRanks& part, std::uint32_t size);

/// Ranks form a binomial tree with rank 0 at its root: a rank's parent is the rank without its lowest bit that is set.
constexpr std::uint32_t parent_of(std::uint32_t rank) noexcept { return rank & (rank - 1); }
/// Ascending. They are of ceil(log2(size)) at most.
std::vector<std::uint32_t> children_of(std::uint32_t rank, std::uint32_t size);

/// "stage 2, tensor 0": those that are in the same groups are compared with each other. Empty: in none. Any thread.
std::string group_label(const RunInfo& run);

/// Who the rank is that the snapshot is of. Any thread.
JobRank job_rank_of(const Snapshot& snapshot);

}  // namespace detail
TAKT_END_NAMESPACE
