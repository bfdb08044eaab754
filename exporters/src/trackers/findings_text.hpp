// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include <string>
#include <string_view>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What stands out in a run, as a tracker is told of it: the sentences of its findings, one a line, eight at most, and
/// how many more there are. Empty: nothing stands out. Any thread.
std::string findings_text(const Snapshot& snapshot);
/// \param rest where all of them are.
std::string findings_text(const std::vector<Finding>& findings, std::string_view rest);

}  // namespace detail
TAKT_END_NAMESPACE
