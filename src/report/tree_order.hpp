// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include <cstdint>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Every path after its parent and before the parent's next child; children in the order given. Any thread.
std::vector<std::uint32_t> tree_order(const Snapshot& snapshot);

}  // namespace detail
TAKT_END_NAMESPACE
