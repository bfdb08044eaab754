// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include <cstdint>
#include <string>
#include <string_view>

// Rank records as bytes, without making RankRecords of them: in one pass, with no memory for a path. The bytes are
// those that pack() of RankRecords makes.

TAKT_BEGIN_NAMESPACE
namespace detail {

/// pack(record_of(snapshot)), as of this rank. Any thread.
std::string pack_record(const Snapshot& snapshot, std::uint32_t rank);

/// Both together, as merge_into() adds them. Bytes may be anything: throws Error, which says what is wrong with them.
/// Any thread.
std::string merge_records(std::string_view a, std::string_view b);

/// How many ranks are in it. Throws Error where it is none.
std::uint64_t ranks_in(std::string_view record);

}  // namespace detail
TAKT_END_NAMESPACE
