// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>

namespace takt_test {

/// What nothing takes, however busy the machine; a test that needs all of it has failed.
inline constexpr std::chrono::seconds kTimeout(60);

/// Takes turns until `done`, one at least. Returns whether it came true.
template <class Done, class Turn>
bool until(const Done& done, const Turn& turn) {
  const auto deadline = std::chrono::steady_clock::now() + kTimeout;
  do {
    turn();
    if (done()) { return true; }
  } while (std::chrono::steady_clock::now() < deadline);
  return false;
}

}  // namespace takt_test
