// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/summary_coding.hpp"
#include "ranks/rank_bytes.hpp"
#include "ranks/rank_comparison.hpp"

#include <cstdint>
#include <string_view>
#include <type_traits>

// Encoding of a rank record. After the header, encoded as in base/encoding.hpp: the spread of wall times, the number of
// paths, then the paths sorted by name. Each path has name, kind, host Summary and spread, a device flag, device
// Summary and spread. One function writes and reads each part.

TAKT_BEGIN_NAMESPACE
namespace detail {

inline constexpr SealKind kRankSeal = {"TAKTRANK", 1, "rank record"};

[[noreturn]] inline void refuse_record(const char* why) { refuse_bytes(kRankSeal, why); }
[[noreturn]] inline void refuse_counts() { refuse_record("it has an invalid histogram"); }
[[noreturn]] inline void refuse_order() { refuse_record("its paths are not in order"); }
[[noreturn]] inline void refuse_values() { refuse_record("its values are invalid"); }

template <class Coder, class Number>
void visit_wide(Coder& coder, Number& wide) {
  auto high = static_cast<std::uint64_t>(wide >> 64U);
  auto low = static_cast<std::uint64_t>(wide);
  coder.number(high);
  coder.number(low);
  if constexpr (!std::is_const_v<Number>) { wide = (static_cast<Wide>(high) << 64U) | low; }
}

/// \param numbers SummaryScalars: all of a Summary except its histogram.
/// \param counts of that histogram, as in base/summary_coding.hpp.
template <class Coder, class Numbers>
void visit_summary(Coder& coder, Numbers& numbers, std::string_view& counts) {
  for (auto* each : {&numbers.n, &numbers.total, &numbers.squares_low, &numbers.squares_high, &numbers.min,
                     &numbers.max, &numbers.first_n, &numbers.first_total, &numbers.first_max, &numbers.warmup_n,
                     &numbers.warmup_total, &numbers.unbinned}) {
    coder.number(*each);
  }
  coder.text(counts);
}

/// Visits the fields of a RankSpread; `unbinned` and `counts` belong to its histogram.
template <class Coder, class Spread>
void visit_spread(Coder& coder, Spread& spread, std::uint64_t& unbinned, std::string_view& counts) {
  coder.number(spread.ranks);
  visit_wide(coder, spread.sum_ns);
  visit_wide(coder, spread.squares);
  coder.number(spread.min.ns);
  coder.number(spread.min.rank);
  coder.number(spread.max.ns);
  coder.number(spread.max.rank);
  coder.number(unbinned);
  coder.text(counts);
}

}  // namespace detail
TAKT_END_NAMESPACE
