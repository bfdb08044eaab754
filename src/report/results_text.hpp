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

}  // namespace detail
TAKT_END_NAMESPACE
