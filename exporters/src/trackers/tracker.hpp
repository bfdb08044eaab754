// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Common properties of a tracker: its names, and its files in a run directory. Any thread.
struct Tracker {
  const char* name;    ///< prefix of error causes: "mlflow"
  const char* title;   ///< name for users: "MLflow"
  const char* sync;    ///< command that delivers later: "takt sync"
  const char* cursor;  ///< file with the delivery progress; null: none
  const char* lease;   ///< lease file of the delivering process

  std::string cause(const char* what) const { return std::string(name) + "." + what; }
  std::string cursor_file(const std::string& directory) const { return directory + "/" + cursor; }
  std::string lease_file(const std::string& directory) const { return directory + "/" + lease; }
};

}  // namespace detail
TAKT_END_NAMESPACE
