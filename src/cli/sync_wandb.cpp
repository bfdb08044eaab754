// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/error.hpp>

#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/progress.hpp"
#include "cli/rank.hpp"
#include "cli/run_folder.hpp"
#include "cli/wandb_delivery.hpp"
#include "wandb/wandb_config.hpp"
#include "wandb/wandb_folder.hpp"

#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <exception>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

WandbOptions wandb_options_for(const SyncWishes& wishes) {
  WandbOptions options = WandbOptions::from_env();
  if (options.mode == WandbMode::disabled) {
    throw Error("WANDB_MODE or WANDB_DISABLED says disabled; set WANDB_MODE to online or offline");
  }
  // It would be that of another run: each has its own.
  options.run_id.clear();
  options.resume = WandbResume::unset;
  options.silent = true;  // of the way to upload: that is told here
  options.every_step = wishes.every_step;
  options.all_ranks = options.all_ranks || wishes.all_ranks;
  return options;
}

std::string words_of(const WandbDelivered& delivered, const std::string& folder) {
  const std::string rows = fmt::format("{} rows", detail::human_count(delivered.rows));
  const std::string upload =
      "this uploads it: " +
      detail::wandb_upload_command(delivered.folder, folder, delivered.resume, !delivered.run.empty());
  switch (delivered.outcome) {
    case WandbDelivered::Outcome::all:
      return fmt::format("all is delivered, {}{}", rows, delivered.run.empty() ? "" : ", to " + delivered.run);
    case WandbDelivered::Outcome::written:
      return fmt::format("{} written{}; {}", rows, delivered.why.empty() ? "" : ", but not sent: " + delivered.why,
                         upload);
    case WandbDelivered::Outcome::so_far:
      return fmt::format("{} so far, {} of them sent; the run goes on", rows, detail::human_count(delivered.sent));
    case WandbDelivered::Outcome::some:
      return fmt::format("not complete: {}; {}, {} of them sent{}", delivered.why, rows,
                         detail::human_count(delivered.sent), delivered.folder.empty() ? "" : "; " + upload);
    default:
      return delivered.why;
  }
}

int status_of(const WandbDelivered& delivered) {
  switch (delivered.outcome) {
    case WandbDelivered::Outcome::all:
    case WandbDelivered::Outcome::not_sent:
      return 0;
    case WandbDelivered::Outcome::written:
      // W&B has nothing yet: 0 would read as leave to delete the run, unless that is what was asked for.
      return delivered.why.empty() ? 0 : kRemains;
    case WandbDelivered::Outcome::unreadable:
      return kBroken;
    default:
      return kRemains;
  }
}

/// Returns the status.
int sync_one(const std::string& folder, const WandbOptions& options, const SyncWishes& wishes) {
  const std::string name = detail::printable(folder) + ": ";
  const auto print = [&](std::FILE* where, const std::string& words) {
    std::fputs((name + detail::printable(words) + "\n").c_str(), where);
  };
  try {
    WandbDelivered delivered;
    {
      Progress progress(detail::printable(folder.substr(folder.rfind('/') + 1)));
      WandbDelivery delivery(folder, options, std::chrono::seconds(wishes.patience_s));
      delivered = delivery.run([&](std::uint64_t sent, std::uint64_t rows) { progress.show(sent, rows); });
    }
    const int status = status_of(delivered);
    print(status == 0 ? stdout : stderr, words_of(delivered, folder));
    return status == 0 && tell_lost(folder, name) ? kLossy : status;
  } catch (const std::exception& error) {
    print(stderr, error.what());
    return kBroken;
  }
}

}  // namespace

int sync_to_wandb(const std::vector<std::string>& runs, const SyncWishes& wishes) {
  std::signal(SIGPIPE, SIG_IGN);  // whoever reads along may leave; TLS connections may break
  const WandbOptions options = wandb_options_for(wishes);
  // What cannot work for any folder is told once.
  detail::check_wandb_options(options);
  if (!options.api_key.empty()) { detail::WandbUpload::check(options); }
  return for_rank_folders(runs, [&](const std::string& folder) { return sync_one(folder, options, wishes); });
}

}  // namespace cli
TAKT_END_NAMESPACE
