// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/encoding.hpp"
#include "base/summary_access.hpp"
#include "ranks/rank_record.hpp"
#include "ranks/sealed_bytes.hpp"

#include <cstddef>
#include <type_traits>
#include <utility>

// The bytes of a rank record. Behind the header each value is spelled as in base/encoding.hpp; one function spells and
// reads it, so that the two cannot differ. Fields may be added at the end with a new version.

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr SealKind kRankSeal = {"TAKTRANK", 1, "rank record"};

struct BucketCount {
  unsigned step = 0;  ///< from the bucket before, or from bucket 0
  std::uint64_t count = 0;
};

std::vector<BucketCount> counts_of(const Histogram& histogram) {
  std::vector<BucketCount> counts;
  unsigned last = 0;
  histogram.each([&](unsigned bucket, std::uint64_t count) {
    counts.push_back({bucket - last, count});
    last = bucket;
  });
  return counts;
}

template <class Coder, class Counts>
void visit_counts(Coder& coder, Counts& counts) {
  coder.list(counts, [](auto& inner, auto& each) {
    inner.number(each.step);
    inner.number(each.count);
  });
}

[[noreturn]] void refuse(const std::string& why) { refuse_bytes(kRankSeal, why); }

/// Calls `set(bucket, count)` for each of them.
template <class Set>
void set_counts(const std::vector<BucketCount>& counts, Set set) {
  std::size_t bucket = 0;
  for (const BucketCount& each : counts) {
    bucket += each.step;
    const bool first = &each == counts.data();
    if (bucket >= Histogram::buckets() || (each.step == 0 && !first) || each.count == 0) {
      refuse("it holds a histogram that cannot be");
    }
    set(static_cast<unsigned>(bucket), each.count);
  }
}

template <class Coder, class Number>
void visit_wide(Coder& coder, Number& wide) {
  auto high = static_cast<std::uint64_t>(wide >> 64U);
  auto low = static_cast<std::uint64_t>(wide);
  coder.number(high);
  coder.number(low);
  if constexpr (!std::is_const_v<Number>) { wide = (static_cast<Wide>(high) << 64U) | low; }
}

template <class Coder, class Value>
void visit_summary(Coder& coder, Value& summary) {
  SummaryScalars numbers = SummaryAccess::scalars(summary);
  std::vector<BucketCount> counts = counts_of(summary.histogram());
  for (std::uint64_t* each : {&numbers.n, &numbers.total, &numbers.squares_low, &numbers.squares_high, &numbers.min,
                              &numbers.max, &numbers.first_n, &numbers.first_total, &numbers.first_max,
                              &numbers.warmup_n, &numbers.warmup_total, &numbers.unbinned}) {
    coder.number(*each);
  }
  visit_counts(coder, counts);
  if constexpr (!std::is_const_v<Value>) {
    SummaryAccess::set_scalars(summary, numbers);
    set_counts(counts, [&](unsigned bucket, std::uint64_t count) { SummaryAccess::set_count(summary, bucket, count); });
  }
}

template <class Coder, class Spread>
void visit_spread(Coder& coder, Spread& spread) {
  coder.number(spread.ranks);
  visit_wide(coder, spread.sum_ns);
  visit_wide(coder, spread.squares);
  coder.number(spread.least.ns);
  coder.number(spread.least.rank);
  coder.number(spread.most.ns);
  coder.number(spread.most.rank);
  std::uint64_t unbinned = spread.totals_us.unbinned();
  std::vector<BucketCount> counts = counts_of(spread.totals_us);
  coder.number(unbinned);
  visit_counts(coder, counts);
  if constexpr (!std::is_const_v<Spread>) {
    SummaryAccess::set_unbinned(spread.totals_us, unbinned);
    set_counts(counts, [&](unsigned bucket, std::uint64_t count) {
      SummaryAccess::set_count(spread.totals_us, bucket, count);
    });
  }
}

template <class Coder, class Path>
void visit_path(Coder& coder, Path& path) {
  coder.kind(path.kind);
  visit_summary(coder, path.host);
  visit_spread(coder, path.host_totals);
  bool has_device = path.device_totals.ranks != 0;
  coder.number(has_device);
  if (!has_device) { return; }
  visit_summary(coder, path.device);
  visit_spread(coder, path.device_totals);
}

template <class Coder, class Name>
void visit_name(Coder& coder, Name& name) {
  coder.list(name, [](auto& inner, auto& each) { inner.text(each); });
}

}  // namespace

std::string pack(const RankRecord& record) {
  std::string values;
  Encoder encoder(values);
  visit_spread(encoder, record.wall);
  encoder.number(record.paths.size());
  for (const auto& [name, path] : record.paths) {
    visit_name(encoder, name);
    visit_path(encoder, path);
  }
  return seal(kRankSeal, values);
}

RankRecord unpack(std::string_view bytes) {
  Decoder decoder(unseal(kRankSeal, bytes));
  RankRecord record;
  visit_spread(decoder, record.wall);
  std::uint64_t count = 0;
  decoder.number(count);
  for (std::uint64_t at = 0; decoder.ok() && at < count; ++at) {
    RankPathName name;
    visit_name(decoder, name);
    if (!record.paths.empty() && !(record.paths.rbegin()->first < name)) { refuse("its paths are not in order"); }
    RankPath& path = record.paths.emplace_hint(record.paths.end(), std::move(name), RankPath())->second;
    visit_path(decoder, path);
  }
  if (!decoder.ok() || decoder.more()) { refuse("its values are not those of a rank record"); }
  return record;
}

}  // namespace detail
TAKT_END_NAMESPACE
