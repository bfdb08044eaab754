// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/key.hpp>
#include <takt/snapshot.hpp>
#include <takt/summary.hpp>

#include "ranks/rank_comparison.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// One path over ranks.
struct RankPath {
  Kind kind = Kind::other;  ///< where ranks differ, the one that stands first in Kind
  Summary host;             ///< of all calls of all ranks
  Summary device;           ///< stream spans; n() == 0 where there are none
  RankSpread host_totals;   ///< of the ranks that have the path
  RankSpread device_totals;
};

/// The names of a path from the outermost region on. Names may hold any character, so that no joined text is as good.
using RankPathName = std::vector<std::string>;

}  // namespace detail

/// What ranks contribute to the figures of a job: that of one rank, or of any number of them. All integers;
/// merge_into() is commutative and associative, so that files and messages give the same bits in any order and by any
/// tree. It takes each rank once, and does not notice one that comes twice. A value; one thread at a time.
struct RankRecord {
  detail::RankSpread wall;  ///< how long each rank ran; `wall.ranks` are all that are in the record
  std::map<detail::RankPathName, detail::RankPath> paths;
};

namespace detail {

/// Adds one path of one rank. REQUIRES: not yet added for this rank.
/// \param open_ns of regions there that have not ended.
void add_path(RankRecord& record, std::uint32_t rank, const RankPathName& name, Kind kind, const Summary& host,
              const Summary& device, std::uint64_t open_ns = 0);
/// The record of the one rank that the snapshot is of. Places that differ in their kind alone are one path.
RankRecord record_of(const Snapshot& snapshot);
/// Adds all that `from` holds.
void merge_into(RankRecord& record, const RankRecord& from);

/// The record as bytes: "TAKTRANK", version, checksum, length, values. Equal records give equal bytes.
std::string pack(const RankRecord& record);
/// What pack() has made. Bytes may be anything: throws Error, which says what is wrong with them, where they are cut
/// off, damaged, of a newer version, or no such record at all.
RankRecord unpack(std::string_view bytes);

}  // namespace detail
TAKT_END_NAMESPACE
