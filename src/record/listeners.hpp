// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/key.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Tells the listeners that a region begins. Returns a set of those that were told, for tell_end(). Any thread.
unsigned tell_begin(const Key& key) noexcept;
void tell_end(unsigned told, const Key& key) noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
