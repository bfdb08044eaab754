// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// The name of whom the process belongs to, found as Python's getpass.getuser() does, on which MLflow's and W&B's own
/// clients go: the first of LOGNAME, USER, LNAME and USERNAME that is set, else what the password database says; empty
/// where that knows no such user, as in many containers. A database on the network may take its time. Any thread.
std::string user_name();

}  // namespace detail
TAKT_END_NAMESPACE
