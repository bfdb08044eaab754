// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/destinations.hpp"

#include <takt/error.hpp>

TAKT_BEGIN_NAMESPACE
namespace cli {

#ifndef TAKT_CLI_HAS_MLFLOW
SyncFolder open_mlflow(const SyncWishes& /*wishes*/) {
  throw Error("this takt was built without MLflow; build it where libcurl is found, with TAKT_WITH_MLFLOW=ON");
}
#endif

const std::vector<Destination>& destinations() {
  static const std::vector<Destination> all = {
      {"mlflow", "MLFLOW_TRACKING_URI and the other variables of MLflow's client", &open_mlflow},
      {"mantik", "MANTIK_USERNAME and MANTIK_PASSWORD; where they are set and --to is not, it is the default",
       &open_mlflow},
      {"wandb",
       "WANDB_API_KEY and the other variables of W&B's client; without a key its log is written, for wandb sync",
       &open_wandb},
      {"tensorboard", "TAKT_TENSORBOARD_DIR, or the run folder: a file is written", &open_tensorboard},
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

}  // namespace cli
TAKT_END_NAMESPACE
