// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include "base/json_text.hpp"

TAKT_BEGIN_NAMESPACE
namespace detail {

// Members of summary.json. All: any thread.

/// What was sampled, with figures.
JsonText meters_json(const Snapshot& snapshot);
JsonText unsampled_json(const Snapshot& snapshot);
JsonText step_energies_json(const Snapshot& snapshot);
JsonText region_energies_json(const Snapshot& snapshot);

}  // namespace detail
TAKT_END_NAMESPACE
