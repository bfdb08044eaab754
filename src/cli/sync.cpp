// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/error.hpp>

#include "commands.hpp"
#include "delivery.hpp"
#include "progress.hpp"
#include "run_folder.hpp"
#include "text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

using Outcome = Delivered::Outcome;

MlflowOptions options_for(const SyncWishes& wishes) {
  MlflowOptions options = MlflowOptions::from_env();
  if (options.tracking_uri.empty()) {
    throw Error("MLFLOW_TRACKING_URI is not set; set it to the URL of a server, such as http://127.0.0.1:5000");
  }
  // It would be that of another run: each has its own in its folder.
  options.run_id.clear();
  options.every_step = wishes.every_step;
  options.all_ranks = wishes.all_ranks;
  return options;
}

std::string words_of(const Delivered& delivered) {
  const std::string points =
      fmt::format("{} points delivered now, to run {}", detail::human_count(delivered.points), delivered.run_id);
  switch (delivered.outcome) {
    case Outcome::all:
      return delivered.points == 0 ? "all is delivered, to run " + delivered.run_id : "complete; " + points;
    case Outcome::so_far:
      return points + "; the run goes on";
    case Outcome::some:
      return fmt::format("not complete: {}; {} points delivered now, at least {} wait", delivered.why,
                         detail::human_count(delivered.points), detail::human_count(delivered.waiting));
    default:
      return delivered.why;
  }
}

int status_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::all:
    case Outcome::not_sent:
      return 0;
    case Outcome::unreadable:
      return 1;
    default:
      return kRemains;
  }
}

Delivered deliver(const std::string& folder, const SyncWishes& wishes) {
  Progress progress(detail::printable(folder.substr(folder.rfind('/') + 1)));
  Delivery delivery(folder, options_for(wishes), std::chrono::seconds(wishes.patience_s));
  return delivery.run([&](std::uint64_t done, std::uint64_t waiting) { progress.show(done, done + waiting); });
}

}  // namespace

int sync(const std::vector<std::string>& runs, const SyncWishes& wishes) {
  std::vector<std::string> remarks;
  const std::vector<std::string> folders = rank_folders(runs, remarks);
  for (const std::string& each : remarks) { std::fprintf(stderr, "takt: %s\n", each.c_str()); }
  int status = 0;
  for (const std::string& folder : folders) {
    const Delivered delivered = deliver(folder, wishes);
    const std::string line = detail::printable(folder) + ": " + detail::printable(words_of(delivered));
    fmt::print(status_of(delivered.outcome) == 0 ? stdout : stderr, "{}\n", line);
    if (delivered.left_out != 0) {
      fmt::print(stderr, "{}: MLflow refused {} values, which are left out\n", detail::printable(folder),
                 detail::human_count(delivered.left_out));
    }
    status = std::max(status, status_of(delivered.outcome));
  }
  return status;
}

}  // namespace cli
TAKT_END_NAMESPACE
