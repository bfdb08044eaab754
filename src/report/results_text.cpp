// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "report/results_text.hpp"

#include "report/measurements_csv.hpp"
#include "report/measurements_json.hpp"

#include <cstddef>

TAKT_BEGIN_NAMESPACE
namespace detail {

void ResultsText::update(const std::vector<std::shared_ptr<const Measurement>>& measurements) {
  of_.resize(measurements.size());
  rows_.resize(measurements.size());
  elements_.resize(measurements.size());
  for (std::size_t at = 0; at < measurements.size(); ++at) {
    if (of_[at] == measurements[at]) { continue; }
    rows_[at] = measurement_csv(*measurements[at]);
    elements_[at] = measurement_json(*measurements[at]);
    of_[at] = measurements[at];  // last: where there was no memory for a text, the next time makes it
  }
}

std::string ResultsText::csv() const { return measurements_csv(rows_); }

std::string ResultsText::json(const RunInfo& run) const { return measurements_json(run, elements_); }

}  // namespace detail
TAKT_END_NAMESPACE
