// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/measurement.hpp>
#include <takt/snapshot.hpp>

#include <memory>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// results.csv and results.json of a run that measures again and again: both are written as a whole after each
/// measurement, and the text of each measurement is made once. One thread at a time.
class ResultsText {
 public:
  /// Makes the texts of those that are new, or stand in the place of another one.
  void update(const std::vector<std::shared_ptr<const Measurement>>& measurements);
  std::string csv() const;
  std::string json(const RunInfo& run) const;

 private:
  std::vector<std::shared_ptr<const Measurement>> of_;  // whose texts these are
  std::vector<std::string> rows_;
  std::vector<std::string> elements_;
};

/// A measurement in results.csv: its line, by docs/models.md. Any thread.
std::string measurement_csv(const Measurement& measurement);

/// results.csv of such lines. Any thread.
std::string measurements_csv(const std::vector<std::string>& rows);

/// A measurement in results.json, with every run. Any thread, as for all here.
std::string measurement_json(const Measurement& measurement);

/// results.json of such texts, by schema takt-results/1.
std::string measurements_json(const RunInfo& run, const std::vector<std::string>& elements);

/// The same of what they are made of.
std::string measurements_json(const RunInfo& run, const std::vector<std::shared_ptr<const Measurement>>& measurements);

}  // namespace detail
TAKT_END_NAMESPACE
