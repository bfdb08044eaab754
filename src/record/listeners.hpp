// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/key.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Reports a region's begin to the listeners. Returns the set of listeners called, for report_end(). Any thread.
unsigned report_begin(const Key& key) noexcept;
void report_end(unsigned reported, const Key& key) noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
