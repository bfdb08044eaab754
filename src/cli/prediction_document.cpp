// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/prediction_document.hpp"

#include "base/format.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "report/page.hpp"
#include "report/text_table.hpp"

#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

using detail::CheckedCost;
using detail::CheckedPrediction;
using detail::JsonText;
using detail::TextTable;

std::string share_text(double share) { return detail::format("{:.2f} %", 100 * share); }

std::string mean_error_line(const char* cost, const CheckedCost& checked) {
  const PredictionError& error = checked.error;
  if (error.n == 0) { return detail::format("{}: no error can be told", cost); }
  const std::string interval = error.has_interval
                                   ? detail::format("95 % CI [{}, {}]", share_text(error.low), share_text(error.high))
                                   : std::string("no interval: it takes 3");
  return detail::format("{}: mean absolute percentage error {}, {}, n = {}", cost, share_text(error.mape), interval,
                        error.n);
}

/// One of kModelCosts.
void add_cost(const char* cost, const CheckedCost& checked, detail::Page& page) {
  if (checked.models.empty()) { return; }
  std::vector<TextTable::Line> lines;
  for (const CheckedPrediction& each : checked.models) {
    lines.push_back({detail::printable(each.name),
                     0,
                     {detail::format("{:.10g}", each.measured), detail::format("{:.10g}", each.predicted),
                      each.error < 0 ? "-" : share_text(each.error)}});
  }
  const TextTable table({{"measured", 0}, {"predicted", 0}, {"error", 0}}, std::move(lines), page.width(), cost);
  page.add({table.head()}, detail::Page::Style::bold);
  page.add(table.body(), detail::Page::Style::plain);
  page.add_part({mean_error_line(cost, checked)}, detail::Page::Style::plain);
}

/// JSON has no infinities.
JsonText finite(double value) { return std::isfinite(value) ? JsonText(value) : JsonText(); }

JsonText cost_json(const CheckedCost& checked) {
  JsonText models = JsonText::array();
  for (const CheckedPrediction& each : checked.models) {
    models.push_back({{"name", each.name},
                      {"measured", each.measured},
                      {"predicted", each.predicted},
                      {"error", each.error < 0 ? JsonText() : finite(each.error)}});
  }
  const PredictionError& error = checked.error;
  return {{"models", models},
          {"n", error.n},
          {"mape", error.n == 0 ? JsonText() : finite(error.mape)},
          {"mape_low", error.has_interval ? finite(error.low) : JsonText()},
          {"mape_high", error.has_interval ? finite(error.high) : JsonText()}};
}

}  // namespace

std::string prediction_table(const detail::PredictionCheck& check, const ConsoleOptions& drawn) {
  detail::Page page = detail::page_on_stdout(drawn);
  for (std::size_t at = 0; at < check.costs.size(); ++at) { add_cost(detail::kModelCosts[at], check.costs[at], page); }
  return page.text();
}

std::string prediction_json(const detail::PredictionCheck& check) {
  JsonText document = {{"schema", "takt-predict-check/1"}};
  for (std::size_t at = 0; at < check.costs.size(); ++at) {
    document.add(detail::kModelCosts[at], cost_json(check.costs[at]));
  }
  document.add("only_predicted", check.only_predicted);
  document.add("only_measured", check.only_measured);
  return detail::printable_json(document.indented()) + "\n";
}

}  // namespace cli
TAKT_END_NAMESPACE
