// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "ranks/rank_record.hpp"
#include "ranks/rank_steps.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// One rank in one attempt of the run, as far as a report on the job needs it.
struct JobPartRank {
  JobRank who;
  std::uint32_t attempt = 0;
  std::uint32_t world_size = 0;
  std::int64_t start_unix_ns = 0;
  std::int64_t end_unix_ns = 0;
  std::uint64_t items = 0;
  std::string ended;     ///< "finished", "failed", "killed", "running", "died" or "silent"
  bool damaged = false;  ///< its journal is
  RankSteps steps;       ///< none where a later attempt is in the part
};

/// What one rank, or any number of them, contributes to the report on a job. The record is that of the newest attempt
/// that is in the part; of earlier ones stays who ran, and when. merge_into() gives the same bits in any order and by
/// any tree. A value; one thread at a time.
struct JobPart {
  std::string run_id;
  std::string run_name;  ///< where ranks differ, the first by letters
  RankRecord record;
  std::vector<JobPartRank> ranks;  ///< by number, then by attempt

  /// The newest one; 0 without ranks.
  std::uint32_t attempt() const noexcept;
};

/// The part of one rank. `record` is that rank's.
JobPart part_of(std::string run_id, std::string run_name, RankRecord record, JobPartRank rank);

/// Adds all that `from` holds. A part without ranks is the identity.
/// \throws takt::Error where the two are of different runs, or one rank comes twice in one attempt. Then `part` is as
/// before.
void merge_into(JobPart& part, JobPart from);

/// The part as bytes: "TAKTPART", version, checksum, length, values. Equal parts give equal bytes.
std::string pack(const JobPart& part);
/// What pack() has made of it. Bytes may be anything: throws Error, which says what is wrong with them.
JobPart unpack_part(std::string_view bytes);

}  // namespace detail
TAKT_END_NAMESPACE
