// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include "base/json_text.hpp"
#include "history/metric_history.hpp"
#include "page/page_series.hpp"

#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

// What a page's script draws, as JSON. docs/page.md has the fields. Times of steps have four significant digits. Any
// thread.

/// Times in ns as an array.
template <class Values>
JsonText times_json(const Values& values) {
  constexpr int kDigits = 4;
  JsonText out = JsonText::array();
  for (const auto& each : values) { out.push_back(JsonText::rounded(static_cast<double>(each), kDigits)); }
  return out;
}

/// The least, the most and the mean of each block; where blocks are of one step, its time alone.
void add_blocks(JsonText& json, const std::vector<StepBlock>& blocks);

/// \param paths the page's numbers of the paths that the series speaks of.
JsonText series_json(const PageSeries& series, const std::vector<int>& paths);

JsonText metric_json(const std::string& name, const MetricHistory& history);

}  // namespace detail
TAKT_END_NAMESPACE
