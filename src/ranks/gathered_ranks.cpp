// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "ranks/gathered_ranks.hpp"

#include "base/encoding.hpp"
#include "base/summary_coding.hpp"
#include "ranks/packed_record.hpp"

#include <takt/error.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <system_error>
#include <utility>

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

template <class Coder, class Rate>
void visit_trial_rate(Coder& coder, Rate& rate, TrialInterval& interval) {
  for (auto* each : {&rate.trials, &rate.steps, &rate.items, &rate.ns, &rate.n, &rate.wait_ns, &rate.copy_ns,
                     &rate.begun_again, &rate.left_out_steps, &rate.left_out_ns}) {
    coder.number(*each);
  }
  for (auto* each : {&rate.begin_unix_ns, &rate.end_unix_ns}) { coder.number(*each); }
  for (auto* each : {&rate.over_trials, &rate.copies_count}) { coder.number(*each); }
  coder.real(rate.per_s);
  coder.real(interval.low);
  coder.real(interval.high);
  coder.list(rate.each, [](auto& inner, auto& one) {
    for (auto* each : {&one.steps, &one.items, &one.ns}) { inner.number(*each); }
    inner.real(one.per_s);
  });
}

/// Visits the trials of a rank. An interval whose upper end is not above 0 is none.
template <class Coder, class Trials>
void visit_trials(Coder& coder, Trials& trials, std::array<TrialInterval, kTrialKinds>& intervals) {
  for (unsigned kind = 0; kind < kTrialKinds; ++kind) { visit_trial_rate(coder, trials.kinds[kind], intervals[kind]); }
  for (auto* each : {&trials.unit, &trials.batch_place, &trials.waits_by, &trials.cut}) { coder.text(*each); }
  for (auto* each : {&trials.streams, &trials.failed_waits, &trials.steps_a_trial}) { coder.number(*each); }
  coder.real(trials.seconds_a_trial);
  coder.number(trials.took_ns);
}

void encode_trials(Encoder& encoder, const TrialResults& trials) {
  std::array<TrialInterval, kTrialKinds> intervals;
  for (unsigned kind = 0; kind < kTrialKinds; ++kind) {
    intervals[kind] = trials.kinds[kind].interval.value_or(TrialInterval());
  }
  visit_trials(encoder, trials, intervals);
}

TrialResults decode_trials(Decoder& decoder) {
  TrialResults trials;
  std::array<TrialInterval, kTrialKinds> intervals;
  visit_trials(decoder, trials, intervals);
  for (unsigned kind = 0; kind < kTrialKinds; ++kind) {
    if (intervals[kind].high > 0) { trials.kinds[kind].interval = intervals[kind]; }
  }
  return trials;
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
  if (snapshot.trials != nullptr) { encode_trials(encoder, *snapshot.trials); }
  return bytes;
}

GatheredRank unpack_rank(std::string_view bytes) {
  Decoder decoder(bytes);
  GatheredRank rank;
  std::string_view steps;
  visit_who(decoder, rank.who);
  decoder.list(rank.series, [](Decoder& inner, RankSeries& each) { visit_series(inner, each); });
  decoder.text(steps);
  if (decoder.more()) { rank.trials = decode_trials(decoder); }
  if (!decoder.ok() || decoder.more()) { throw Error("invalid data of a rank"); }
  rank.steps = unpack_steps(steps);
  return rank;
}

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
    if (has_rank(part, each.number)) { throw Error("duplicate rank"); }
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
  if (!decoder.ok() || decoder.more() || !ordered) { throw Error("invalid data of a job's ranks"); }
  if (ranks_in(part.record) != part.ranks.size()) { throw Error("the ranks of a part do not match its record"); }
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

namespace {

constexpr const char* kStage = "stage";
constexpr const char* kMicroBatches = "micro_batches";
constexpr unsigned kMaxMicroBatches = 1'000'000;

int stage_of(const RunInfo& run) {
  for (const auto& [name, number] : run.groups) {
    if (name == kStage) { return number; }
  }
  return JobRank::kNoStage;
}

unsigned micro_batches_of(const Snapshot& snapshot) {
  const auto found = snapshot.params.find(kMicroBatches);
  if (found == snapshot.params.end()) { return 0; }
  const std::string& text = found->second;
  unsigned number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number <= kMaxMicroBatches ? number : 0;
}

}  // namespace

std::string group_label(const RunInfo& run) {
  std::string label;
  for (const auto& [name, number] : run.groups) {
    label += (label.empty() ? "" : ", ") + name + " " + std::to_string(number);
  }
  return label;
}

JobRank job_rank_of(const Snapshot& snapshot) {
  const RunInfo& run = snapshot.run;
  return {static_cast<std::uint32_t>(std::max(run.rank, 0)), run.host, group_label(run), stage_of(run),
          micro_batches_of(snapshot)};
}

}  // namespace detail
TAKT_END_NAMESPACE
