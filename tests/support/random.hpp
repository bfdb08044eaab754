// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "sanitized.hpp"

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace takt_test {

/// Returns `count`, or a part of it if a sanitizer makes every step much slower.
constexpr int scaled(int count, int share = 10) { return kSanitized ? count / share : count; }

/// Returns TAKT_TEST_SEED, or a fixed seed. The first call prints it, so that every log shows how to repeat the run.
inline std::uint64_t test_seed() {
  static const std::uint64_t seed = [] {
    const char* text = std::getenv("TAKT_TEST_SEED");
    const std::uint64_t given = text == nullptr || *text == '\0' ? 20260301 : std::strtoull(text, nullptr, 10);
    std::printf("TAKT_TEST_SEED=%" PRIu64 "\n", given);
    std::fflush(stdout);  // else a forked child would print it again
    return given;
  }();
  return seed;
}

/// Returns the same numbers on every platform, unlike the standard distributions (SplitMix64).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t mixed = state_ += 0x9E3779B97F4A7C15U;
    mixed = (mixed ^ (mixed >> 30U)) * 0xBF58476D1CE4E5B9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94D049BB133111EBU;
    return mixed ^ (mixed >> 31U);
  }
  /// Returns 0 to `count` - 1.
  std::uint64_t below(std::uint64_t count) { return next() % count; }
  /// Returns true in `percent` of 100 cases.
  bool chance(unsigned percent) { return below(100) < percent; }
  /// Returns a number in [0, 1).
  double uniform() { return static_cast<double>(next() >> 11U) * 0x1p-53; }
  /// Returns an approximately normal number with deviation 1. Uses only addition, so that it is the same on every
  /// platform.
  double bell() {
    double sum = -6;
    for (int count = 0; count < 12; ++count) { sum += uniform(); }
    return sum;
  }

 private:
  std::uint64_t state_;
};

}  // namespace takt_test
