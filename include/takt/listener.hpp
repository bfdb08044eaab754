// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>
#include <takt/key.hpp>

TAKT_BEGIN_NAMESPACE

/// Callbacks that run when a region of the process starts and ends, on that thread; for example, for profiler ranges.
/// They are part of the timed program: they must be quick and must not throw. A listener sees the end of exactly those
/// regions whose start it saw, on any thread.
struct Listener {
  void (*begin)(const Key& key, void* context) noexcept = nullptr;
  void (*end)(const Key& key, void* context) noexcept = nullptr;
  void* context = nullptr;  ///< not owned; must outlive the listener
};

/// Adds a listener for regions that start from now on. Returns false beyond 8 different listeners in the life of the
/// process. With a listener, regions take the slower path; without one, the cost is one predictable branch. Any thread.
TAKT_EXPORT bool add_listener(const Listener& listener) noexcept;
/// Removes a listener: it sees no further starts. Regions whose start it saw may still end, so its context must stay
/// valid. Any thread.
TAKT_EXPORT void remove_listener(const Listener& listener) noexcept;

TAKT_END_NAMESPACE
