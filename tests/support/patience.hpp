// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>

namespace takt_test {

/// Longer than any operation takes, even on a busy machine; a test that uses all of it has failed.
inline constexpr std::chrono::seconds kTimeout(60);

/// Calls `turn` until `done`, at least once. Returns true if `done` became true.
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
