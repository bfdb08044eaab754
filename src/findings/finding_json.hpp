// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/finding.hpp>

#include "base/json_text.hpp"

TAKT_BEGIN_NAMESPACE
namespace detail {

/// {"what", "sentence", "evidence": [{"name", "value", "unit"}], "cost": {"ns", "low_ns", "high_ns", "share"},
/// "where"}; `cost`, `unit` and `where` are null where there are none. Any thread.
JsonText finding_json(const Finding& finding);
/// {"what", "why"}. Any thread.
JsonText abstention_json(const Abstention& abstention);

}  // namespace detail
TAKT_END_NAMESPACE
