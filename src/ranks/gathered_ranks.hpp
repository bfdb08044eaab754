// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "ranks/rank_record.hpp"
#include "ranks/rank_steps.hpp"

#include <takt/config.hpp>
#include <takt/snapshot.hpp>
#include <takt/trial_results.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A series of a rank with a throughput.
struct RankSeries {
  RankPathName path;   ///< of its Batch
  std::string thread;  ///< thread name
  Throughput throughput;
};

/// Data of one rank besides its record; it cannot be added up over ranks. Value type.
struct GatheredRank {
  JobRank who;
  std::vector<RankSeries> series;
  RankSteps steps;
  std::optional<TrialResults> trials = {};  ///< what job_trials() adds up, and takes from the slowest rank
};

/// Returns the series of the snapshot's rank. Any thread.
std::vector<RankSeries> series_of(const Snapshot& snapshot);

/// Serialises the snapshot's rank. Any thread.
/// \param steps pack() of the RankSteps.
std::string pack_rank(const Snapshot& snapshot, std::string_view steps);
/// Reads bytes of pack_rank(). Throws takt::Error with the reason if they are invalid.
GatheredRank unpack_rank(std::string_view bytes);

/// Several ranks of a job: one merged record, and the rest per rank. All of it stays serialised until it reaches rank
/// 0. Value type; not thread-safe.
struct GatheredRanks {
  struct Rank {
    std::uint32_t number = 0;
    std::string bytes;  ///< pack_rank()
  };
  std::vector<Rank> ranks;  ///< ascending
  std::string record;       ///< pack_record() of all of them
};

/// Adds the ranks of `from`. Throws takt::Error if a rank is duplicated or a record is invalid; `part` is then
/// unchanged.
void merge_into(GatheredRanks& part, GatheredRanks from);

/// Serialises the ranks. Equal parts give equal bytes.
std::string pack(const GatheredRanks& part);
/// Reads bytes of pack(). Throws takt::Error with the reason if they are invalid.
GatheredRanks unpack_gathered(std::string_view bytes);

/// Returns true if the part contains the rank.
bool has_rank(const GatheredRanks& part, std::uint32_t rank) noexcept;
/// Returns the ranks of a job of `size` that are missing, ascending.
std::vector<std::uint32_t> missing_from(const GatheredRanks& part, std::uint32_t size);

/// Returns the parent in a binomial tree with root 0: the rank without its lowest set bit.
constexpr std::uint32_t parent_of(std::uint32_t rank) noexcept { return rank & (rank - 1); }
/// Returns the children, ascending; at most ceil(log2(size)).
std::vector<std::uint32_t> children_of(std::uint32_t rank, std::uint32_t size);

/// Returns "stage 2, tensor 0". Ranks with equal labels are compared; empty if the rank has no groups. Any thread.
std::string group_label(const RunInfo& run);

/// Returns the identity of the snapshot's rank. Any thread.
JobRank job_rank_of(const Snapshot& snapshot);

}  // namespace detail
TAKT_END_NAMESPACE
