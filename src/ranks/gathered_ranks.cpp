// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "ranks/gathered_ranks.hpp"

#include <takt/error.hpp>

#include "base/encoding.hpp"

#include <algorithm>
#include <cstddef>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

template <class Coder, class Ranks, class Text>
void visit_part(Coder& coder, Ranks& ranks, Text& record) {
  coder.list(ranks, [](auto& inner, auto& each) { inner.number(each); });
  coder.text(record);
}

bool has_equal_neighbours(const std::vector<std::uint32_t>& ranks) {
  return std::adjacent_find(ranks.begin(), ranks.end()) != ranks.end();
}

}  // namespace

void merge_into(GatheredRanks& part, const GatheredRanks& from) {
  std::vector<std::uint32_t> ranks(part.ranks.size() + from.ranks.size());
  std::merge(part.ranks.begin(), part.ranks.end(), from.ranks.begin(), from.ranks.end(), ranks.begin());
  if (has_equal_neighbours(ranks)) { throw Error("a rank came twice"); }
  merge_into(part.record, from.record);
  part.ranks = std::move(ranks);
}

std::string pack(const GatheredRanks& part) {
  std::string bytes;
  Encoder encoder(bytes);
  const std::string record = pack(part.record);
  visit_part(encoder, part.ranks, record);
  return bytes;
}

GatheredRanks unpack_gathered(std::string_view bytes) {
  Decoder decoder(bytes);
  GatheredRanks part;
  std::string record;
  visit_part(decoder, part.ranks, record);
  const bool ordered = std::is_sorted(part.ranks.begin(), part.ranks.end()) && !has_equal_neighbours(part.ranks);
  if (!decoder.ok() || decoder.more() || !ordered) { throw Error("these bytes are no part of a job"); }
  part.record = unpack(record);
  if (part.record.wall.ranks != part.ranks.size()) { throw Error("a part of a job has other ranks than its record"); }
  return part;
}

std::vector<std::uint32_t> missing_from(const GatheredRanks& part, std::uint32_t size) {
  std::vector<std::uint32_t> missing;
  auto next = part.ranks.begin();
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    if (next != part.ranks.end() && *next == rank) {
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
