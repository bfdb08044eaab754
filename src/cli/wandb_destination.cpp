// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/error.hpp>

#include "base/format.hpp"
#include "base/text.hpp"
#include "cli/destinations.hpp"
#include "cli/wandb_delivery.hpp"
#include "wandb/wandb_config.hpp"
#include "wandb/wandb_folder.hpp"

#include <chrono>
#include <memory>

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

std::string wandb_words_of(const WandbDelivered& delivered, const std::string& folder) {
  const std::string rows = detail::format("{} rows", detail::human_count(delivered.rows));
  const std::string upload =
      "this uploads it: " +
      detail::wandb_upload_command(delivered.folder, folder, delivered.resume, !delivered.run.empty());
  switch (delivered.outcome) {
    case Outcome::all:
      if (!delivered.asked) {
        return detail::format("{} were delivered before{}; W&B was not asked now", rows,
                              delivered.run.empty() ? ", by wandb sync" : ", to " + delivered.run);
      }
      return detail::format("all is delivered, {}, to {}", rows, delivered.run);
    case Outcome::written:
      return detail::format("{} written{}; {}", rows, delivered.why.empty() ? "" : ", but not sent: " + delivered.why,
                            upload);
    case Outcome::so_far:
      return detail::format("{} so far, {} of them sent; the run goes on", rows, detail::human_count(delivered.sent));
    case Outcome::some:
      return detail::format("not complete: {}; {}, {} of them sent{}", delivered.why, rows,
                            detail::human_count(delivered.sent), delivered.folder.empty() ? "" : "; " + upload);
    default:
      return delivered.why;
  }
}

int status_of(const WandbDelivered& delivered) {
  if (delivered.outcome != Outcome::written) { return status_of(delivered.outcome); }
  // W&B has nothing yet: 0 would read as leave to delete the run, unless that is what was asked for.
  return delivered.why.empty() ? 0 : kRemains;
}

}  // namespace

SyncFolder open_wandb(const SyncWishes& wishes) {
  const WandbOptions options = wandb_options_for(wishes);
  // What cannot work for any folder is told once.
  detail::check_wandb_options(options);
  if (!options.api_key.empty()) { detail::WandbUpload::check(options); }
  const auto patience = std::make_shared<Patience>(std::chrono::seconds(wishes.patience_s));
  return [=](const std::string& folder, const Watcher& watch) {
    const WandbDelivered delivered = WandbDelivery(folder, options, patience).run(watch);
    return Synced{status_of(delivered), wandb_words_of(delivered, folder), delivered.remark};
  };
}

}  // namespace cli
TAKT_END_NAMESPACE
