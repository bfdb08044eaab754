// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/error.hpp>

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/prediction_document.hpp"
#include "cli/run_folder.hpp"
#include "measure/csv_table.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

using detail::ModelCosts;

constexpr const char* kResults = "results.csv";
constexpr std::size_t kMostModelsNamed = 8;

[[noreturn]] void refuse_file(const std::string& path, int error) {
  throw Error(detail::format("cannot read {}: {}; it takes a CSV file with a column name", detail::printable(path),
                             detail::reason_of(error)));
}

/// A file that somebody has named: whoever does means where it leads, if it is a link.
std::vector<ModelCosts> read_predictions(const std::string& path) {
  std::string text;
  std::error_code error;
  const std::string real = std::filesystem::canonical(path, error).string();
  // One byte more than there may be tells that there is more.
  if (error || !detail::read_from(real, 0, detail::CsvTable::kMostBytes + 1, text)) {
    refuse_file(path, error ? error.value() : errno);
  }
  return detail::read_model_costs(text, path);
}

/// The measurements of the first rank that has some.
std::vector<ModelCosts> read_results(const std::vector<RankFolder>& folders) {
  for (const RankFolder& folder : folders) {
    const auto files = folder.open();
    std::string text;
    if (files->read_whole(kResults, detail::CsvTable::kMostBytes, text)) {
      return detail::read_model_costs(text, files->path(kResults));
    }
    if (errno != ENOENT) { refuse_file(files->path(kResults), errno); }
  }
  throw Error(detail::format("there is no {} in {}: this run has no measurements of models", kResults,
                             folders.empty() ? "this run" : detail::printable(folders.front().path())));
}

void tell_unchecked(const char* what, const std::vector<std::string>& models) {
  if (models.empty()) { return; }
  std::string names;
  for (std::size_t at = 0; at < std::min(models.size(), kMostModelsNamed); ++at) {
    names += detail::format("{}{}", at == 0 ? "" : ", ", detail::fit(detail::printable(models[at]), 60));
  }
  detail::print(stderr, "takt: {} {}: {}{}\n", models.size(), what, names,
                models.size() > kMostModelsNamed ? ", ..." : "");
}

}  // namespace

int predict_check(const PredictWishes& wishes) {
  std::vector<std::string> remarks;
  const std::vector<RankFolder> folders =
      rank_folders(wishes.run.empty() ? std::vector<std::string>() : std::vector<std::string>{wishes.run}, remarks);
  for (const std::string& each : remarks) { detail::print(stderr, "takt: {}\n", each); }
  const std::vector<detail::ModelCosts> measured = read_results(folders);
  const detail::PredictionCheck check = detail::check_predictions(read_predictions(wishes.file), measured);
  tell_unchecked("predicted and not measured", check.only_predicted);
  tell_unchecked("measured and not predicted", check.only_measured);
  if (!check.any()) { throw Error("nothing was both predicted and measured; names have to be the same in both files"); }
  detail::print(stdout, "{}", wishes.json ? prediction_json(check) : prediction_table(check, wishes.drawn));
  return 0;
}

}  // namespace cli
TAKT_END_NAMESPACE
