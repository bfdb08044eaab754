// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/key.hpp>

#include <array>
#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Which regions of a key are timed, where that is one in so many. A small table by key: with more sampled keys than
/// it has room for, some share a place and take turns in it, which only makes sampling start again. One thread.
class Sampling {
 public:
  /// Whether this is the one in `every` regions of `key` to be timed. The first one is.
  bool takes(KeyIndex key, std::uint32_t every) noexcept;
  /// Starts again.
  void forget() noexcept { key_ = {}; }

 private:
  static constexpr std::size_t kPlaces = 64;
  std::array<std::uint32_t, kPlaces> count_{};
  std::array<KeyIndex, kPlaces> key_{};
};

}  // namespace detail
TAKT_END_NAMESPACE
