// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A tracker, as far as all of them are alike: what it is called, and what it keeps in a run directory. Any thread.
struct Tracker {
  const char* name;    ///< in the causes of lines: "mlflow"
  const char* title;   ///< for people: "MLflow"
  const char* sync;    ///< the command that delivers later: "takt sync"
  const char* cursor;  ///< the file that says how far the run was delivered; null: it keeps none
  const char* lease;   ///< the file of who delivers it now

  std::string cause(const char* what) const { return std::string(name) + "." + what; }
  std::string cursor_file(const std::string& directory) const { return directory + "/" + cursor; }
  std::string lease_file(const std::string& directory) const { return directory + "/" + lease; }
};

}  // namespace detail
TAKT_END_NAMESPACE
