// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/error.hpp>

#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/delivery.hpp"
#include "cli/progress.hpp"
#include "cli/rank.hpp"
#include "cli/run_folder.hpp"
#include "mlflow/mlflow_messages.hpp"

#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <exception>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

MlflowOptions options_for(const SyncWishes& wishes) {
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

std::string words_of(const Delivered& delivered) {
  std::string now = fmt::format("{} points delivered now", detail::human_count(delivered.points));
  if (delivered.was_there != 0) {
    now += fmt::format(", {} were there already", detail::human_count(delivered.was_there));
  }
  const std::string run = "run " + delivered.run_id + " at " + delivered.server;
  const std::string points = now + ", to " + run;
  switch (delivered.outcome) {
    case Delivered::Outcome::all:
      return delivered.points + delivered.was_there == 0 ? "all is delivered, to " + run : "complete; " + points;
    case Delivered::Outcome::so_far:
      return points + "; the run goes on";
    case Delivered::Outcome::some:
      return fmt::format("not complete: {}; {}, at least {} wait", delivered.why, now,
                         detail::human_count(delivered.waiting));
    default:
      return delivered.why;
  }
}

int status_of(Delivered::Outcome outcome) {
  switch (outcome) {
    case Delivered::Outcome::all:
    case Delivered::Outcome::not_sent:
      return 0;
    case Delivered::Outcome::unreadable:
      return kBroken;
    default:
      return kRemains;
  }
}

Delivered deliver(const std::string& folder, const MlflowOptions& options, const SyncWishes& wishes) {
  Progress progress(detail::printable(folder.substr(folder.rfind('/') + 1)));
  Delivery delivery(folder, options, std::chrono::seconds(wishes.patience_s));
  return delivery.run([&](std::uint64_t done, std::uint64_t waiting) { progress.show(done, done + waiting); });
}

void print(std::FILE* where, const std::string& line) { std::fputs((line + "\n").c_str(), where); }

/// Returns the status.
int sync_one(const std::string& folder, const MlflowOptions& options, const SyncWishes& wishes) {
  const std::string name = detail::printable(folder) + ": ";
  try {
    const Delivered delivered = deliver(folder, options, wishes);
    const int status = status_of(delivered.outcome);
    print(status == 0 ? stdout : stderr, name + detail::printable(words_of(delivered)));
    if (delivered.left_out != 0) {
      print(stderr, fmt::format("{}MLflow refused {} values, which are left out", name,
                                detail::human_count(delivered.left_out)));
    }
    return status == 0 && tell_lost(folder, name) ? kLossy : status;
  } catch (const std::exception& error) {
    print(stderr, name + detail::printable(error.what()));
    return kBroken;
  }
}

}  // namespace

int sync(const std::vector<std::string>& runs, const SyncWishes& wishes) {
  std::signal(SIGPIPE, SIG_IGN);  // whoever reads along may leave; TLS connections may break
  const MlflowOptions options = options_for(wishes);
  const detail::MlflowClient probe(options);  // what cannot work for any folder is told once
  return for_rank_folders(runs, [&](const std::string& folder) { return sync_one(folder, options, wishes); });
}

}  // namespace cli
TAKT_END_NAMESPACE
