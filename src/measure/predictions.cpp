// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "measure/predictions.hpp"

#include "base/format.hpp"
#include "base/statistics.hpp"
#include "base/text.hpp"

#include <takt/error.hpp>
#include <takt/models.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <set>
#include <system_error>
#include <unordered_map>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

using CostColumns = std::array<std::size_t, kModelCosts.size()>;

CostColumns find_cost_columns(const CsvTable& table) {
  CostColumns columns = {};
  bool any = false;
  for (std::size_t at = 0; at < columns.size(); ++at) {
    columns[at] = table.column(kModelCosts[at]);
    any = any || columns[at] != CsvTable::kNoColumn;
  }
  if (!any || table.column("name") == CsvTable::kNoColumn) {
    table.refuse(1, detail::format("it needs a column name and at least one of {}, {}, {}", kModelCosts[0],
                                   kModelCosts[1], kModelCosts[2]));
  }
  return columns;
}

}  // namespace

std::vector<ModelCosts> read_model_costs(std::string_view text, const std::string& file) {
  const CsvTable table(text, file);
  const CostColumns columns = find_cost_columns(table);
  const std::size_t names = table.column("name");
  std::unordered_map<std::string, std::size_t> lines;
  std::vector<ModelCosts> models;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    ModelCosts model;
    model.name = table.text(row, names);
    if (model.name.empty()) { table.refuse(table.line(row), "the name is missing"); }
    const auto [before, is_new] = lines.emplace(model.name, table.line(row));
    if (!is_new) {
      table.refuse(table.line(row),
                   detail::format("'{}' is already in line {}", fit(printable(model.name), 60), before->second));
    }
    for (std::size_t at = 0; at < columns.size(); ++at) { model.amounts[at] = table.amount(row, columns[at]); }
    models.push_back(std::move(model));
  }
  return models;
}

namespace {

/// Returns true if at least one cost was both predicted and measured.
bool check_model(const ModelCosts& predicted, const ModelCosts& measured, PredictionCheck& check) {
  bool any = false;
  for (std::size_t at = 0; at < kModelCosts.size(); ++at) {
    if (!predicted.amounts[at] || !measured.amounts[at]) { continue; }
    CheckedPrediction one{predicted.name, *measured.amounts[at], *predicted.amounts[at], -1};
    if (one.measured > 0) { one.error = prediction_error({one.predicted}, {one.measured}).mape; }
    check.costs[at].models.push_back(one);
    any = true;
  }
  return any;
}

void add_mean_error(CheckedCost& cost) {
  std::vector<double> predicted;
  std::vector<double> measured;
  for (const CheckedPrediction& each : cost.models) {
    if (each.error < 0) { continue; }
    predicted.push_back(each.predicted);
    measured.push_back(each.measured);
  }
  if (!measured.empty()) { cost.error = prediction_error(predicted, measured); }
}

}  // namespace

PredictionCheck check_predictions(const std::vector<ModelCosts>& predicted, const std::vector<ModelCosts>& measured) {
  PredictionCheck check;
  std::unordered_map<std::string, const ModelCosts*> by_name;
  for (const ModelCosts& each : measured) { by_name.emplace(each.name, &each); }
  std::set<std::string> checked;
  for (const ModelCosts& each : predicted) {
    const auto found = by_name.find(each.name);
    if (found != by_name.end() && check_model(each, *found->second, check)) {
      checked.insert(each.name);
    } else {
      check.only_predicted.push_back(each.name);
    }
  }
  for (const ModelCosts& each : measured) {
    if (checked.count(each.name) == 0) { check.only_measured.push_back(each.name); }
  }
  for (CheckedCost& each : check.costs) { add_mean_error(each); }
  return check;
}

namespace {

constexpr std::size_t kMinErrorsToFit = 3;  // minimum for an interval

/// Returns |predicted - measured| / measured for each.
std::vector<double> errors_of(const std::vector<double>& predicted, const std::vector<double>& measured) {
  if (predicted.size() != measured.size()) {
    throw Error(detail::format("takt: prediction_error() got {} predictions for {} measured values; pass equally many",
                               predicted.size(), measured.size()));
  }
  if (measured.empty()) { throw Error("takt: prediction_error() got no values; pass at least one prediction"); }
  std::vector<double> errors;
  errors.reserve(measured.size());
  for (std::size_t at = 0; at < measured.size(); ++at) {
    if (!std::isfinite(measured[at]) || measured[at] <= 0) {
      throw Error(
          detail::format("takt: prediction_error(): measured[{}] is {}, but a relative error needs a measured value "
                         "above 0. Leave it out",
                         at, measured[at]));
    }
    errors.push_back(std::fabs(predicted[at] - measured[at]) / measured[at]);
    if (!std::isfinite(errors.back())) {
      throw Error(detail::format(
          "takt: prediction_error(): predicted[{}] is {}, which is no valid prediction of {}. Leave it out", at,
          predicted[at], measured[at]));
    }
  }
  return errors;
}

}  // namespace
}  // namespace detail

PredictionError prediction_error(const std::vector<double>& predicted, const std::vector<double>& measured) {
  const std::vector<double> errors = detail::errors_of(predicted, measured);
  const auto n = static_cast<double>(errors.size());
  PredictionError result;
  result.n = errors.size();
  for (const double each : errors) { result.mape += each / n; }
  if (errors.size() < detail::kMinErrorsToFit) { return result; }
  double squares = 0;
  for (const double each : errors) { squares += (each - result.mape) * (each - result.mape); }
  const double half =
      detail::student_t_quantile(0.975, static_cast<double>(errors.size() - 1)) * std::sqrt(squares / (n - 1) / n);
  result.has_interval = true;
  result.low = std::max(result.mape - half, 0.0);
  result.high = result.mape + half;
  return result;
}

namespace detail {
namespace {

constexpr std::size_t kShownColumns = 40;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::string shown_field(std::string_view text) {
  return fit(printable(text.substr(0, 4 * kShownColumns)), kShownColumns);
}

/// Hand-written files have blanks around commas.
std::string_view without_blanks(std::string_view field) noexcept {
  const std::size_t first = field.find_first_not_of(" \t");
  return first == std::string_view::npos ? "" : field.substr(first, field.find_last_not_of(" \t") - first + 1);
}

bool is_line_end(std::string_view text) noexcept { return text[0] == '\n' || text.substr(0, 2) == "\r\n"; }

}  // namespace

CsvTable::CsvTable(std::string_view text, std::string file) : file_(std::move(file)) {
  if (text.size() > kMaxBytes) { refuse(1, detail::format("the file has more than {} bytes", kMaxBytes)); }
  if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark) { text.remove_prefix(kByteOrderMark.size()); }
  if (text.empty()) { refuse(1, "the file is empty; its first line must name the columns"); }
  std::size_t line = 1;
  head_ = take_row(text, line);
  check_head();
  while (!text.empty()) {
    Row row = take_row(text, line);
    if (row.fields.size() == 1 && row.fields[0].empty()) { continue; }  // an empty line
    if (row.fields.size() != head_.fields.size()) {
      refuse(row.line, detail::format("there are {} fields, but {} columns", row.fields.size(), head_.fields.size()));
    }
    if (rows_.size() == kMaxRows) { refuse(row.line, detail::format("there are more than {} rows", kMaxRows)); }
    rows_.push_back(std::move(row));
  }
}

void CsvTable::refuse(std::size_t line, const std::string& what) const {
  throw Error(detail::format("{}, line {}: {}", fit_end(printable(file_), 200), line, what));
}

void CsvTable::check_head() const {
  std::vector<std::string_view> names(head_.fields.begin(), head_.fields.end());
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) { refuse(head_.line, detail::format("duplicate column '{}'", shown_field(*twice))); }
}

CsvTable::Row CsvTable::take_row(std::string_view& text, std::size_t& line) const {
  Row row;
  row.line = line;
  for (;;) {
    if (row.fields.size() == kMaxColumns) {
      refuse(line, detail::format("there are more than {} fields", kMaxColumns));
    }
    row.fields.push_back(take_field(text, line));
    if (text.empty()) { return row; }
    const bool ends = is_line_end(text);
    text.remove_prefix(text[0] == '\r' ? 2 : 1);
    if (ends) {
      ++line;
      return row;
    }
  }
}

/// Takes the field up to its comma or end of line.
std::string CsvTable::take_field(std::string_view& text, std::size_t& line) const {
  const std::size_t begin = line;
  if (text.empty() || text[0] != '"') {
    std::size_t size = 0;
    while (size < text.size() && text[size] != ',' && !is_line_end(text.substr(size))) { ++size; }
    const std::string_view field = text.substr(0, size);
    text.remove_prefix(size);
    return checked(without_blanks(field), begin);
  }
  std::string field;
  for (text.remove_prefix(1); !text.empty(); text.remove_prefix(1)) {
    if (text[0] == '"') {
      text.remove_prefix(1);
      if (text.empty() || text[0] == ',' || is_line_end(text)) { return checked(field, begin); }
      if (text[0] != '"') { refuse(line, "unexpected text after the closing quote of a field"); }
    }
    line += text[0] == '\n' ? 1 : 0;
    field += text[0];
  }
  refuse(begin, "unterminated quoted field");
}

std::string CsvTable::checked(std::string_view field, std::size_t line) const {
  if (field.find('\0') != std::string_view::npos) { refuse(line, "zero byte: this is not a text file"); }
  return std::string(field);
}

std::size_t CsvTable::column(std::string_view name) const noexcept {
  const auto found = std::find(head_.fields.begin(), head_.fields.end(), name);
  return found == head_.fields.end() ? kNoColumn : static_cast<std::size_t>(found - head_.fields.begin());
}

std::optional<double> CsvTable::amount(std::size_t row, std::size_t column) const {
  if (column == kNoColumn || text(row, column).empty()) { return {}; }
  const std::string& field = text(row, column);
  double value = 0;
  const auto [stopped, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error != std::errc() || stopped != field.data() + field.size() || !std::isfinite(value) || value < 0) {
    refuse(line(row), detail::format("{} is '{}', which is not a number >= 0", shown_field(head_.fields[column]),
                                     shown_field(field)));
  }
  return value;
}

}  // namespace detail
TAKT_END_NAMESPACE
