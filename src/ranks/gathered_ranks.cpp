// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "ranks/gathered_ranks.hpp"

#include <takt/error.hpp>

#include "base/encoding.hpp"
#include "ranks/packed_record.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

template <class Coder, class Part>
void visit_part(Coder& coder, Part& part) {
  coder.list(part.ranks, [](auto& inner, auto& rank) {
    inner.number(rank.number);
    inner.text(rank.bytes);
  });
  coder.text(part.record);
}

bool is_before(const GatheredRanks::Rank& a, const GatheredRanks::Rank& b) noexcept { return a.number < b.number; }

}  // namespace

void merge_into(GatheredRanks& part, GatheredRanks from) {
  for (const GatheredRanks::Rank& each : from.ranks) {
    if (has_rank(part, each.number)) { throw Error("a rank came twice"); }
  }
  std::string record = merge_records(part.record, from.record);
  const auto middle = static_cast<std::ptrdiff_t>(part.ranks.size());
  part.ranks.reserve(part.ranks.size() + from.ranks.size());
  std::move(from.ranks.begin(), from.ranks.end(), std::back_inserter(part.ranks));
  std::inplace_merge(part.ranks.begin(), part.ranks.begin() + middle, part.ranks.end(), is_before);
  part.record = std::move(record);
}

std::string pack(const GatheredRanks& part) {
  std::size_t size = part.record.size() + 16;
  for (const GatheredRanks::Rank& each : part.ranks) { size += each.bytes.size() + 16; }
  std::string bytes;
  bytes.reserve(size);
  Encoder encoder(bytes);
  visit_part(encoder, part);
  return bytes;
}

GatheredRanks unpack_gathered(std::string_view bytes) {
  Decoder decoder(bytes);
  GatheredRanks part;
  visit_part(decoder, part);
  const auto not_before = [](const GatheredRanks::Rank& a, const GatheredRanks::Rank& b) { return !is_before(a, b); };
  const bool ordered = std::adjacent_find(part.ranks.begin(), part.ranks.end(), not_before) == part.ranks.end();
  if (!decoder.ok() || decoder.more() || !ordered) { throw Error("these bytes are no part of a job"); }
  if (ranks_in(part.record) != part.ranks.size()) { throw Error("a part of a job has other ranks than its record"); }
  return part;
}

bool has_rank(const GatheredRanks& part, std::uint32_t rank) noexcept {
  const auto found =
      std::lower_bound(part.ranks.begin(), part.ranks.end(), rank,
                       [](const GatheredRanks::Rank& each, std::uint32_t number) { return each.number < number; });
  return found != part.ranks.end() && found->number == rank;
}

std::vector<std::uint32_t> missing_from(const GatheredRanks& part, std::uint32_t size) {
  std::vector<std::uint32_t> missing;
  auto next = part.ranks.begin();
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    if (next != part.ranks.end() && next->number == rank) {
      ++next;
    } else {
      missing.push_back(rank);
    }
  }
  return missing;
}

std::vector<std::uint32_t> children_of(std::uint32_t rank, std::uint32_t size) {
  std::vector<std::uint32_t> children;
  for (std::uint64_t bit = 1; (rank & bit) == 0 && rank + bit < size; bit <<= 1U) {
    children.push_back(static_cast<std::uint32_t>(rank + bit));
  }
  return children;
}

}  // namespace detail
TAKT_END_NAMESPACE
