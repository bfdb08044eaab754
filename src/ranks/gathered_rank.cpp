// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "ranks/gathered_rank.hpp"

#include <takt/error.hpp>

#include "base/encoding.hpp"
#include "base/throughput_coding.hpp"
#include "ranks/rank_group.hpp"

#include <algorithm>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

template <class Coder, class Rank>
void visit_who(Coder& coder, Rank& who) {
  coder.number(who.number);
  coder.text(who.host);
  coder.text(who.group);
  coder.number(who.stage);
  coder.number(who.micro_batches);
}

template <class Coder, class Series>
void visit_series(Coder& coder, Series& series) {
  coder.list(series.path, [](auto& inner, auto& name) { inner.text(name); });
  coder.text(series.thread);
  visit_rates(coder, series.throughput);
  visit_no_interval(coder, series.throughput);
  visit_extent(coder, series.throughput);
}

}  // namespace

std::vector<RankSeries> series_of(const Snapshot& snapshot) {
  std::vector<RankSeries> all;
  for (const Series& each : snapshot.series) {
    if (each.throughput.steps == 0) { continue; }
    RankPathName path;
    for (std::uint32_t at = each.path; at < snapshot.paths.size(); at = snapshot.paths[at].parent) {
      path.push_back(snapshot.paths[at].name);
    }
    std::reverse(path.begin(), path.end());
    const bool known = each.thread < snapshot.threads.size();
    all.push_back({std::move(path), known ? snapshot.threads[each.thread].name : "", each.throughput});
  }
  return all;
}

std::string pack_rank(const Snapshot& snapshot, std::string_view steps) {
  std::string bytes;
  Encoder encoder(bytes);
  const JobRank who = job_rank_of(snapshot);
  visit_who(encoder, who);
  encoder.list(series_of(snapshot), [](Encoder& inner, const RankSeries& each) { visit_series(inner, each); });
  encoder.text(steps);
  return bytes;
}

GatheredRank unpack_rank(std::string_view bytes) {
  Decoder decoder(bytes);
  GatheredRank rank;
  std::string_view steps;
  visit_who(decoder, rank.who);
  decoder.list(rank.series, [](Decoder& inner, RankSeries& each) { visit_series(inner, each); });
  decoder.text(steps);
  if (!decoder.ok() || decoder.more()) { throw Error("these bytes are none of a rank"); }
  rank.steps = unpack_steps(steps);
  return rank;
}

}  // namespace detail
TAKT_END_NAMESPACE
