// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// "Takt: digits, run digits-1, rank 0 of 4, took 9.40 s".
std::string title_of(const Snapshot& snapshot);

}  // namespace detail
TAKT_END_NAMESPACE
