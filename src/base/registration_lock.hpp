// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Held by who adds to what a process keeps for ever: its keys, names of metrics, listeners. One for all, as that is
/// seldom, and held for no longer than that takes. In a child of a fork it is free: who held it may not exist there.
class RegistrationLock {
 public:
  RegistrationLock() noexcept;
  ~RegistrationLock();
  RegistrationLock(const RegistrationLock&) = delete;
  RegistrationLock& operator=(const RegistrationLock&) = delete;

  static void after_fork() noexcept;
};

}  // namespace detail
TAKT_END_NAMESPACE
