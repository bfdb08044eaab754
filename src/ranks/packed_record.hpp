// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include <cstdint>
#include <string>
#include <string_view>

// Serialises rank records in one pass, without building RankRecords or allocating per path. The bytes equal those of
// pack(RankRecord).

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Returns pack(record_of(snapshot)) for the given rank. Any thread.
std::string pack_record(const Snapshot& snapshot, std::uint32_t rank);

/// Merges two serialised records as merge_into() does. Throws takt::Error with the reason if bytes are invalid. Any
/// thread.
std::string merge_records(std::string_view a, std::string_view b);

/// Returns the number of ranks. Throws takt::Error if it is no record.
std::uint64_t ranks_in(std::string_view record);

}  // namespace detail
TAKT_END_NAMESPACE
