// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Some consecutive steps of one series, as the history keeps them. A value; one thread at a time.
struct StepBlock {
  static constexpr std::size_t kMostSamples = 8;

  std::uint64_t steps = 0;
  std::uint64_t warmup = 0;     ///< of these
  std::int64_t first_step = 0;  ///< number of the first one
  std::int64_t begin_ns = 0;    ///< of the first one, since the start of the run
  std::int64_t end_ns = 0;      ///< of the last one
  std::uint64_t sum_ns = 0;     ///< of their lengths
  std::uint64_t least_ns = ~std::uint64_t{0};
  std::uint64_t most_ns = 0;
  std::uint64_t usual_steps = 0;       ///< after warm-up, and with a known period
  std::uint64_t usual_ns = 0;          ///< their periods, each cut to what is usual among its neighbours
  std::vector<std::uint64_t> samples;  ///< lengths of some of the steps, evenly chosen; ascending
  std::vector<std::uint64_t> columns;  ///< sums in ns, by place in SeriesHistory::columns(); zeros at its end may lack
};

/// Keeps the length of one of its steps.
void add_sample(StepBlock& block, std::uint64_t ns);
/// Adds the columns of one of its steps.
void add_columns(StepBlock& block, const std::vector<std::uint64_t>& columns);
/// Adds the steps behind those of `block`. \param odd which ones of too many samples stay.
void join(StepBlock& block, const StepBlock& behind, bool odd);

}  // namespace detail
TAKT_END_NAMESPACE
