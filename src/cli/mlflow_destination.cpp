// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/error.hpp>

#include "base/format.hpp"
#include "base/text.hpp"
#include "cli/destinations.hpp"
#include "cli/mlflow_delivery.hpp"
#include "mlflow/mlflow_messages.hpp"

#include <chrono>
#include <memory>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

MlflowOptions mlflow_options_for(const SyncWishes& wishes) {
  MlflowOptions options = MlflowOptions::from_env();
  if (wishes.to == "mlflow") { options.mantik = {}; }
  if (wishes.to == "mantik" && !detail::mlflow_is_mantik(options)) {
    throw Error(
        "there is no login at Mantik for --to mantik; set MANTIK_USERNAME and MANTIK_PASSWORD, and "
        "MLFLOW_TRACKING_URI, if at all, to Mantik's tracking server");
  }
  if (!detail::mlflow_has_server(options)) {
    throw Error("MLFLOW_TRACKING_URI is not set; set it to the URL of a server, such as http://127.0.0.1:5000");
  }
  options.every_step = wishes.every_step;
  options.all_ranks = options.all_ranks || wishes.all_ranks;
  return options;
}

bool is_lacking(const MlflowDelivered& delivered) { return delivered.left_out != 0 || delivered.missing_files != 0; }

/// "; MLflow refused ...", or nothing.
std::string lacking_words(const MlflowDelivered& delivered) {
  std::string words;
  const auto add = [&words](const std::string& more) { words += (words.empty() ? "" : "; ") + more; };
  if (delivered.left_out != 0) {
    add(detail::format("MLflow refused {} values, which are left out", detail::human_count(delivered.left_out)));
  }
  if (delivered.missing_files != 0) {
    add(detail::format("{} of its files could not be attached", delivered.missing_files));
  }
  return words;
}

std::string mlflow_words_of(const MlflowDelivered& delivered) {
  std::string now = detail::format("{} points delivered now", detail::human_count(delivered.points));
  if (delivered.was_there != 0) {
    now += detail::format(", {} were there already", detail::human_count(delivered.was_there));
  }
  const std::string run = "run " + delivered.run_id + " at " + delivered.server;
  const std::string points = now + ", to " + run;
  switch (delivered.outcome) {
    case Outcome::all:
      if (is_lacking(delivered)) { return "delivered as far as MLflow takes it; " + points; }
      return delivered.points + delivered.was_there == 0 ? "all is delivered, to " + run : "complete; " + points;
    case Outcome::so_far:
      return points + "; the run goes on";
    case Outcome::some:
      return detail::format("not complete: {}; {}, at least {} wait", delivered.why, now,
                            detail::human_count(delivered.waiting));
    default:
      return delivered.why;
  }
}

}  // namespace

SyncFolder open_mlflow(const SyncWishes& wishes) {
  const MlflowOptions options = mlflow_options_for(wishes);
  const detail::MlflowClient probe(options);  // what cannot work for any folder is told once
  const auto patience = std::make_shared<Patience>(std::chrono::seconds(wishes.patience_s));
  return [=](const std::string& folder, const Watcher& watch) {
    const MlflowDelivered delivered = MlflowDelivery(folder, options, patience).run(watch);
    Synced synced = {status_of(delivered.outcome), mlflow_words_of(delivered), delivered.remark};
    const std::string lacking = lacking_words(delivered);
    if (!lacking.empty()) { synced.remark += (synced.remark.empty() ? "" : "; ") + lacking; }
    if (synced.status == 0 && !lacking.empty()) { synced.status = kLossy; }
    return synced;
  };
}

}  // namespace cli
TAKT_END_NAMESPACE
