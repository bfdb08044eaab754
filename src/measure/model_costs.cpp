// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "measure/model_costs.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "measure/csv_table.hpp"

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
    table.refuse(1, detail::format("it takes a column name, and one or more of {}, {}, {}", kModelCosts[0],
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
                   detail::format("'{}' is in line {}, too", fit(printable(model.name), 60), before->second));
    }
    for (std::size_t at = 0; at < columns.size(); ++at) { model.amounts[at] = table.amount(row, columns[at]); }
    models.push_back(std::move(model));
  }
  return models;
}

}  // namespace detail
TAKT_END_NAMESPACE
