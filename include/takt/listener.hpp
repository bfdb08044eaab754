// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>
#include <takt/key.hpp>

TAKT_BEGIN_NAMESPACE

/// Two functions that are called live, at the time and on the thread, when a region of the process begins and ends: for
/// ranges of a profiler, say. They are part of the timed program: they must be quick and must not throw. A region that
/// a listener saw begin is the only one it sees end; on whichever thread that happens.
struct Listener {
  void (*begin)(const Key& key, void* context) noexcept = nullptr;
  void (*end)(const Key& key, void* context) noexcept = nullptr;
  void* context = nullptr;  ///< not owned; must outlive the listener
};

/// Adds a listener for regions that begin from now on. At most 8 different ones in the life of the process; false
/// beyond. While there is one, regions take the slower way; without, the price is one predictable branch. Any thread.
TAKT_EXPORT bool add_listener(const Listener& listener) noexcept;
/// Takes a listener out: it is told of no further begins. Ends of regions that it saw begin may still come, so its
/// context must stay valid. Any thread.
TAKT_EXPORT void remove_listener(const Listener& listener) noexcept;

TAKT_END_NAMESPACE
