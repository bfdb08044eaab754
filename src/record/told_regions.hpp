// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/detail/tree.hpp>

#include <array>
#include <atomic>
#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// The open regions of a thread of whose begin listeners were told, and which listeners. Its thread adds; any thread
/// takes, and of several that take the same region one gets it.
class ToldRegions {
 public:
  /// \param listeners a bit each, the lowest eight. False where more regions are open than are timed.
  bool add(std::uint32_t id, unsigned listeners) noexcept;
  /// The listeners that were told of the region `id`; 0 if none was, or another thread has taken it.
  unsigned take(std::uint32_t id) noexcept;
  /// Its thread has ended.
  void forget() noexcept;

 private:
  std::array<std::atomic<std::uint32_t>, Tree::kMaxDepth> place_{};  // id of a region << 8 | listeners; 0: free
};

}  // namespace detail
TAKT_END_NAMESPACE
