// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/error.hpp>

#include "cli/commands.hpp"

TAKT_BEGIN_NAMESPACE
namespace cli {

int sync(const std::vector<std::string>&, const SyncWishes&) {
  throw Error("this takt was built without MLflow; build it where libcurl is found, with TAKT_WITH_MLFLOW=ON");
}

}  // namespace cli
TAKT_END_NAMESPACE
