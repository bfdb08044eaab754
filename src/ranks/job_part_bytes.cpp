// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/encoding.hpp"
#include "ranks/job_part.hpp"
#include "ranks/rank_steps_bytes.hpp"
#include "ranks/sealed_bytes.hpp"

#include <type_traits>

// The bytes of a job part. The record and the steps of each rank stand in it as their own pack() spells them.

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr SealKind kPartSeal = {"TAKTPART", 1, "part of a job"};

[[noreturn]] void refuse_part(const std::string& why) { refuse_bytes(kPartSeal, why); }

template <class Coder, class Rank>
void visit_rank(Coder& coder, Rank& rank) {
  coder.number(rank.who.number);
  coder.text(rank.who.host);
  coder.text(rank.who.group);
  coder.number(rank.attempt);
  coder.number(rank.world_size);
  coder.number(rank.start_unix_ns);
  coder.number(rank.end_unix_ns);
  coder.number(rank.items);
  coder.text(rank.ended);
  coder.number(rank.damaged);
  if constexpr (std::is_const_v<Rank>) {
    coder.text(pack(rank.steps));
  } else {
    std::string steps;
    coder.text(steps);
    if (coder.ok()) { rank.steps = unpack_steps(steps); }
  }
}

/// Refuses what no merging makes.
void check_ranks(const JobPart& part) {
  const std::uint32_t newest = part.attempt();
  std::uint64_t counted = 0;
  for (std::size_t at = 0; at < part.ranks.size(); ++at) {
    const JobPartRank& here = part.ranks[at];
    if (here.attempt == newest) { ++counted; }
    if (at == 0) { continue; }
    const JobPartRank& before = part.ranks[at - 1];
    const bool in_order =
        before.who.number < here.who.number || (before.who.number == here.who.number && before.attempt < here.attempt);
    if (!in_order) { refuse_part("its ranks are not in order"); }
  }
  if (counted != part.record.wall.ranks) { refuse_part("its record is not one of its ranks"); }
}

}  // namespace

std::string pack(const JobPart& part) {
  std::string values;
  Encoder encoder(values);
  encoder.text(part.run_id);
  encoder.text(part.run_name);
  encoder.text(pack(part.record));
  encoder.list(part.ranks, [](auto& inner, const auto& rank) { visit_rank(inner, rank); });
  return seal(kPartSeal, values);
}

JobPart unpack_part(std::string_view bytes) {
  Decoder decoder(unseal(kPartSeal, bytes));
  JobPart part;
  std::string record;
  decoder.text(part.run_id);
  decoder.text(part.run_name);
  decoder.text(record);
  decoder.list(part.ranks, [](auto& inner, auto& rank) { visit_rank(inner, rank); });
  if (!decoder.ok() || decoder.more()) { refuse_part("its values are not those of a part"); }
  part.record = unpack(record);
  check_ranks(part);
  return part;
}

}  // namespace detail
TAKT_END_NAMESPACE
