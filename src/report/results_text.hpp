// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/measurement.hpp>
#include <takt/snapshot.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Texts of results.csv and results.json. Both files are rewritten after each measurement, but each measurement's text
/// is made once. Not thread-safe.
class ResultsText {
 public:
  /// Makes texts for new or replaced measurements.
  void update(const std::vector<std::shared_ptr<const Measurement>>& measurements);
  /// Has a column for each feature of a measurement, up to kMaxFeatureColumns, which it reports.
  std::string csv() const;
  std::string json(const RunInfo& run) const;

  static constexpr std::size_t kMaxFeatureColumns = 200;

 private:
  std::vector<std::shared_ptr<const Measurement>> of_;  // measurements of these texts
  std::vector<std::string> rows_;
  std::vector<std::string> elements_;
};

/// Returns a measurement's element in results.json, with every run. Any thread, like all functions here.
std::string measurement_json(const Measurement& measurement);

/// Returns results.json with these elements, schema takt-results/1.
std::string measurements_json(const RunInfo& run, const std::vector<std::string>& elements);

/// The same from the measurements.
std::string measurements_json(const RunInfo& run, const std::vector<std::shared_ptr<const Measurement>>& measurements);

}  // namespace detail
TAKT_END_NAMESPACE
