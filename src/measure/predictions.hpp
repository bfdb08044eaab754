// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "measure/measured_times.hpp"

#include <takt/models.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What one model costs: of each of kModelCosts an amount, where it is known.
struct ModelCosts {
  std::string name;
  std::array<std::optional<double>, kModelCosts.size()> amounts;
};

/// Reads a file of predictions, or results.csv (docs/models.md). Other columns are passed over. Any thread.
/// \param file what errors call it.
/// \throws takt::Error with the number of the line, where it is no such table, a name is missing or there twice, or
///         an amount is no number of 0 or more.
std::vector<ModelCosts> read_model_costs(std::string_view text, const std::string& file);

/// A prediction beside what was measured.
struct CheckedPrediction {
  std::string name;  ///< of the model
  double measured = 0;
  double predicted = 0;
  double error = 0;  ///< |predicted - measured| / measured; negative where that cannot be told: 0 was measured
};

/// All predictions of one of kModelCosts.
struct CheckedCost {
  std::vector<CheckedPrediction> models;  ///< in the order of the predictions
  PredictionError error;                  ///< of those of which it can be told; n == 0: of none
};

/// What a predictor said, beside what was measured. A value.
struct PredictionCheck {
  std::array<CheckedCost, kModelCosts.size()> costs;
  std::vector<std::string> only_predicted;  ///< models of which nothing predicted was measured
  std::vector<std::string> only_measured;   ///< models of which nothing measured was predicted

  bool any() const noexcept {
    for (const CheckedCost& each : costs) {
      if (!each.models.empty()) { return true; }
    }
    return false;
  }
};

/// Any thread.
PredictionCheck check_predictions(const std::vector<ModelCosts>& predicted, const std::vector<ModelCosts>& measured);

/// A CSV file with a head, by RFC 4180: fields between commas, quoted where they hold one, lines that end with a line
/// feed, with or without a carriage return. Bytes may be anything; what is not such a table is refused with the
/// number of its line. Columns are looked up by name. A value.
class CsvTable {
 public:
  static constexpr std::size_t kMaxBytes = 4U << 20U;
  static constexpr std::size_t kMaxRows = 100'000;
  static constexpr std::size_t kMaxColumns = 1'000;
  static constexpr std::size_t kNoColumn = ~std::size_t{0};

  /// \param file what errors call it.
  /// \throws takt::Error
  CsvTable(std::string_view text, std::string file);

  std::size_t rows() const noexcept { return rows_.size(); }
  /// kNoColumn: there is none.
  std::size_t column(std::string_view name) const noexcept;
  /// Where the row begins in the file, from 1 on.
  std::size_t line(std::size_t row) const noexcept { return rows_[row].line; }
  const std::string& text(std::size_t row, std::size_t column) const noexcept { return rows_[row].fields[column]; }
  /// Nothing where the field is empty, or there is no such column.
  /// \throws takt::Error where it is no number, or one below 0.
  std::optional<double> amount(std::size_t row, std::size_t column) const;
  /// \throws takt::Error "<file>, line <line>: <what>"
  [[noreturn]] void refuse(std::size_t line, const std::string& what) const;

 private:
  struct Row {
    std::size_t line = 0;
    std::vector<std::string> fields;
  };

  Row take_row(std::string_view& text, std::size_t& line) const;
  std::string take_field(std::string_view& text, std::size_t& line) const;
  std::string checked(std::string_view field, std::size_t line) const;
  void check_head() const;

  std::string file_;
  Row head_;
  std::vector<Row> rows_;
};

}  // namespace detail
TAKT_END_NAMESPACE
