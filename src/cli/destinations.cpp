// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/destinations.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "tensorboard/tensorboard_run.hpp"

#include <takt/error.hpp>
#include <takt/exporters/tensorboard.hpp>

#include <cerrno>
#include <memory>

#include <sys/stat.h>

TAKT_BEGIN_NAMESPACE
namespace cli {

#ifndef TAKT_CLI_HAS_MLFLOW
SyncDirectory open_mlflow(const SyncOptions& /*wishes*/) {
  throw Error("this takt was built without MLflow; build it with libcurl and TAKT_WITH_MLFLOW=ON");
}
#endif

const std::vector<Destination>& destinations() {
  static const std::vector<Destination> all = {
      {"mlflow", "MLFLOW_TRACKING_URI and the other variables of MLflow's client", &open_mlflow},
      {"mantik", "MANTIK_USERNAME and MANTIK_PASSWORD; the default if they are set and --to is not", &open_mlflow},
      {"wandb",
       "WANDB_API_KEY and the other variables of W&B's client; without a key its log is written, for wandb sync",
       &open_wandb},
      {"tensorboard", "TAKT_TENSORBOARD_DIR, or the run directory: a file is written", &open_tensorboard},
  };
  return all;
}

int status_of(Outcome outcome) noexcept {
  switch (outcome) {
    case Outcome::all:
    case Outcome::not_sent:
      return 0;
    case Outcome::unreadable:
      return kBroken;
    default:
      return kRemains;
  }
}

namespace {

// TensorBoard reads every file that has "tfevents" in its name.
constexpr const char* kUnderWay = "takt-sync.part";

std::uint64_t size_of(const detail::DirectoryFiles& directory, const std::string& name) {
  struct stat status = {};
  return directory.look(name, status) && S_ISREG(status.st_mode) ? static_cast<std::uint64_t>(status.st_size) : 0;
}

/// Writes the whole journal as a new file, which replaces an existing one.
Synced write_events(DirectoryTurn& turn, const std::shared_ptr<const detail::DirectoryFiles>& target, bool every_step) {
  const std::string name = detail::tensorboard_file(turn.run(), every_step);
  detail::TensorboardRun events(every_step);
  target->remove(kUnderWay);  // left by a killed process
  if (!events.create(target, kUnderWay, turn.run())) {
    throw Error(detail::tensorboard_error("make", target->path(kUnderWay), errno));
  }
  const DirectoryTurn::Reading reading = turn.read([&](const Snapshot& snapshot, DirectoryTurn::Part part) {
    return turn.lasts() && (part == DirectoryTurn::Part::job ? events.take_job(snapshot) : events.take(snapshot));
  });
  const std::string path = target->path(name);
  const std::uint64_t before = size_of(*target, name);
  const bool whole = reading.whole && events.sync();
  // Equal values need equal bytes. Readers of the existing file would not notice its replacement.
  const bool is_more = whole && events.bytes() > before;
  const bool placed = is_more && target->rename(kUnderWay, name);
  const int why = errno;
  if (!placed) { target->remove(kUnderWay); }
  if (turn.is_lost()) { return {kRemains, turn.problem(), ""}; }
  if (!whole || (is_more && !placed)) { throw Error(detail::tensorboard_error("write", path, why)); }
  if (events.bytes() < before) {
    return {kLossy, path + " has more data than the journal and is kept; remove it to write the journal's data", ""};
  }
  const std::string values = detail::format("{} values are in {}", detail::human_count(events.values()), path);
  return reading.ended ? Synced{0, values, turn.job_warning()}
                       : Synced{kRemains, values + " so far; the run is still running", turn.job_warning()};
}

Synced sync_events(const std::string& directory, const TensorboardOptions& options) {
  DirectoryTurn turn(directory, detail::kTensorboard);
  Outcome outcome = Outcome::some;
  std::string why;
  if (!turn.begin(options.all_ranks, outcome, why)) { return {status_of(outcome), why, ""}; }
  std::string error;
  const auto target = detail::tensorboard_directory(options.directory, turn.run(), *turn.files(), error);
  if (!error.empty()) { throw Error(error); }
  // Continues with the options of an existing file.
  bool every_step = options.every_step;
  for (const bool each : {false, true}) {
    if (target->may_exist(detail::tensorboard_file(turn.run(), each))) { every_step = each; }
  }
  return write_events(turn, target, every_step);
}

}  // namespace

SyncDirectory open_tensorboard(const SyncOptions& sync) {
  TensorboardOptions options = TensorboardOptions::from_env();
  options.every_step = sync.every_step;
  options.all_ranks = options.all_ranks || sync.all_ranks;
  return [=](const std::string& directory, const Watcher& /*watch*/) { return sync_events(directory, options); };
}

}  // namespace cli
TAKT_END_NAMESPACE
