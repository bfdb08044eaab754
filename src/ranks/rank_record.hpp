// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/key.hpp>
#include <takt/snapshot.hpp>
#include <takt/summary.hpp>

#include "ranks/rank_spread.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// One path, over all ranks.
struct RankPath {
  Kind kind = Kind::other;  ///< if ranks differ, the first one in the order of Kind
  Summary host;             ///< all calls of all ranks
  Summary device;           ///< stream spans; n() == 0 if there are none
  RankSpread host_totals;   ///< over ranks that have the path
  RankSpread device_totals;
};

/// Names along a path, outermost region first. A joined text would be ambiguous, because names may contain any
/// character.
using RankPathName = std::vector<std::string>;

}  // namespace detail

/// Contribution of one or more ranks to a job's figures. All integers; merge_into() is commutative and associative, so
/// files and messages give the same bits in any order and by any tree. Each rank must be added only once; duplicates
/// are not detected. Value type; not thread-safe.
struct RankRecord {
  detail::RankSpread wall;  ///< run time of each rank; `wall.ranks` is the number of ranks in the record
  std::map<detail::RankPathName, detail::RankPath> paths;
};

namespace detail {

/// Adds one path of one rank. REQUIRES: not yet added for this rank.
/// \param open_ns time of regions at this path that have not ended.
void add_path(RankRecord& record, std::uint32_t rank, const RankPathName& name, Kind kind, const Summary& host,
              const Summary& device, std::uint64_t open_ns = 0);
/// Returns the record of the snapshot's rank. Paths that differ only in their kind are merged.
RankRecord record_of(const Snapshot& snapshot);
/// Adds all data of `from`.
void merge_into(RankRecord& record, const RankRecord& from);

/// Serialises the record: "TAKTRANK", version, checksum, length, values. Equal records give equal bytes.
std::string pack(const RankRecord& record);
/// Reads bytes of pack(). Throws takt::Error with the reason if they are truncated, damaged, of a newer version or no
/// record.
RankRecord unpack(std::string_view bytes);

}  // namespace detail
TAKT_END_NAMESPACE
