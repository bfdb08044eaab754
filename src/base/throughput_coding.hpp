// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include <algorithm>
#include <cstdint>
#include <type_traits>

TAKT_BEGIN_NAMESPACE
namespace detail {

// How a Throughput is written to bytes and read again, part by part: earlier journals end between two parts.

/// Numbers and rates.
template <class Coder, class Throughput>
void visit_rates(Coder& coder, Throughput& throughput) {
  for (auto* each : {&throughput.steps, &throughput.items, &throughput.period_ns, &throughput.excluded_steps,
                     &throughput.excluded_ns, &throughput.windows}) {
    coder.number(*each);
  }
  for (auto* each : {&throughput.items_per_s, &throughput.items_low, &throughput.items_high, &throughput.steps_per_s}) {
    coder.real(*each);
  }
}

/// When its periods were.
template <class Coder, class Throughput>
void visit_extent(Coder& coder, Throughput& throughput) {
  coder.number(throughput.first_ns);
  coder.number(throughput.last_ns);
}

/// Why there is no interval.
template <class Coder, class Throughput>
void visit_no_interval(Coder& coder, Throughput& throughput) {
  auto why = static_cast<std::uint32_t>(throughput.no_interval);
  coder.number(why);
  coder.number(throughput.stalls);
  if constexpr (!std::is_const_v<Throughput>) {
    throughput.no_interval = static_cast<NoInterval>(std::min(why, static_cast<std::uint32_t>(NoInterval::correlated)));
  }
}

}  // namespace detail
TAKT_END_NAMESPACE
