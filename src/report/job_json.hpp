// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include "base/json_text.hpp"

TAKT_BEGIN_NAMESPACE
namespace detail {

/// The member `job` of summary.json; null where the snapshot is of one rank alone.
JsonText job_json(const Snapshot& snapshot);

}  // namespace detail
TAKT_END_NAMESPACE
