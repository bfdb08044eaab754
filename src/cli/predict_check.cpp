// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/predict_check.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/results_file.hpp"
#include "cli/run_directory.hpp"
#include "measure/predictions.hpp"
#include "report/text_table.hpp"

#include <takt/error.hpp>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

using detail::ModelCosts;

constexpr const char* kResults = "results.csv";
constexpr std::size_t kMaxModelsNamed = 8;

[[noreturn]] void refuse_file(const std::string& path, int error) {
  throw Error(detail::format("cannot read {}: {}; the file must be CSV with a column name", detail::printable(path),
                             detail::reason_of(error)));
}

/// Reads a file named by the user; links are followed.
std::vector<ModelCosts> read_predictions(const std::string& path) {
  std::string text;
  std::error_code error;
  const std::string real = std::filesystem::canonical(path, error).string();
  // One byte beyond the limit reveals a larger file.
  if (error || !detail::read_from(real, 0, detail::CsvTable::kMaxBytes + 1, text)) {
    refuse_file(path, error ? error.value() : errno);
  }
  return detail::read_model_costs(text, path);
}

std::vector<ModelCosts> read_results(const RankDirectory& directory) {
  const auto files = directory.open();
  std::string text;
  if (!files->read_whole(kResults, detail::CsvTable::kMaxBytes, text)) { refuse_file(files->path(kResults), errno); }
  return detail::read_model_costs(text, files->path(kResults));
}

void report_unchecked(const char* what, const std::vector<std::string>& models) {
  if (models.empty()) { return; }
  std::string names;
  for (std::size_t at = 0; at < std::min(models.size(), kMaxModelsNamed); ++at) {
    names += detail::format("{}{}", at == 0 ? "" : ", ", detail::fit(detail::printable(models[at]), 60));
  }
  detail::print(stderr, "takt: {} {}: {}{}\n", models.size(), what, names,
                models.size() > kMaxModelsNamed ? ", ..." : "");
}

}  // namespace

int predict_check(const PredictCheckOptions& options) {
  const std::vector<RankDirectory> directories =
      rank_directories(options.run.empty() ? std::vector<std::string>() : std::vector<std::string>{options.run});
  const std::vector<detail::ModelCosts> measured = read_results(rank_with(kResults, directories));
  const detail::PredictionCheck check = detail::check_predictions(read_predictions(options.file), measured);
  report_unchecked("predicted and not measured", check.only_predicted);
  report_unchecked("measured and not predicted", check.only_measured);
  if (!check.any()) {
    throw Error("no names in common between predictions and measurements; use the same names in both files");
  }
  detail::print(stdout, "{}", options.json ? prediction_json(check) : prediction_table(check, options.drawn));
  return 0;
}

namespace {

using detail::CheckedCost;
using detail::CheckedPrediction;
using detail::JsonText;
using detail::TextTable;

std::string share_text(double share) { return detail::format("{:.2f} %", 100 * share); }

std::string mean_error_line(const char* cost, const CheckedCost& checked) {
  const PredictionError& error = checked.error;
  if (error.n == 0) { return detail::format("{}: error unknown", cost); }
  const std::string interval = error.has_interval
                                   ? detail::format("95 % CI [{}, {}]", share_text(error.low), share_text(error.high))
                                   : std::string("no interval: 3 models are needed");
  return detail::format("{}: mean absolute percentage error {}, {}, n = {}", cost, share_text(error.mape), interval,
                        error.n);
}

/// \param cost one of kModelCosts.
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
