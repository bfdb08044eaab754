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

/// Costs of one model: an amount for each of kModelCosts, if known.
struct ModelCosts {
  std::string name;
  std::array<std::optional<double>, kModelCosts.size()> amounts;
};

/// Reads a file of predictions, or results.csv (docs/models.md). Ignores other columns. Any thread.
/// \param file its name in errors.
/// \throws takt::Error with the line number if the table is invalid, a name is missing or duplicated, or an amount is
/// not a number >= 0.
std::vector<ModelCosts> read_model_costs(std::string_view text, const std::string& file);

/// A prediction and the measured value.
struct CheckedPrediction {
  std::string name;  ///< of the model
  double measured = 0;
  double predicted = 0;
  double error = 0;  ///< |predicted - measured| / measured; negative if undefined (measured is 0)
};

/// All predictions of one of kModelCosts.
struct CheckedCost {
  std::vector<CheckedPrediction> models;  ///< in the order of the predictions
  PredictionError error;                  ///< over models with a defined error; n == 0 if there is none
};

/// Predictions compared with measurements. Value type.
struct PredictionCheck {
  std::array<CheckedCost, kModelCosts.size()> costs;
  std::vector<std::string> only_predicted;  ///< models without a common cost in the measurements
  std::vector<std::string> only_measured;   ///< models without a common cost in the predictions

  bool any() const noexcept {
    for (const CheckedCost& each : costs) {
      if (!each.models.empty()) { return true; }
    }
    return false;
  }
};

/// Any thread.
PredictionCheck check_predictions(const std::vector<ModelCosts>& predicted, const std::vector<ModelCosts>& measured);

/// A CSV file with a header line by RFC 4180: comma-separated fields, quoted if they contain a comma, and lines that
/// end with LF or CRLF. Any bytes are safe; an invalid table is refused with the line number. Columns are found by
/// name. Value type.
class CsvTable {
 public:
  static constexpr std::size_t kMaxBytes = 4U << 20U;
  static constexpr std::size_t kMaxRows = 100'000;
  static constexpr std::size_t kMaxColumns = 1'000;
  static constexpr std::size_t kNoColumn = ~std::size_t{0};

  /// \param file its name in errors.
  /// \throws takt::Error
  CsvTable(std::string_view text, std::string file);

  std::size_t rows() const noexcept { return rows_.size(); }
  /// Returns kNoColumn if there is no such column.
  std::size_t column(std::string_view name) const noexcept;
  /// Returns the row's first line in the file, counted from 1.
  std::size_t line(std::size_t row) const noexcept { return rows_[row].line; }
  const std::string& text(std::size_t row, std::size_t column) const noexcept { return rows_[row].fields[column]; }
  /// Returns nothing if the field is empty or the column does not exist.
  /// \throws takt::Error if it is not a number >= 0.
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
