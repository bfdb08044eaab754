// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "sanitized.hpp"

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace takt_test {

/// `count`, or a share of it where every step costs many times as much.
constexpr int scaled(int count, int share = 10) { return kSanitized ? count / share : count; }

/// TAKT_TEST_SEED, or else always the same. Printed by whoever asks first, so that every log tells how to run it again.
inline std::uint64_t test_seed() {
  static const std::uint64_t seed = [] {
    const char* text = std::getenv("TAKT_TEST_SEED");
    const std::uint64_t given = text == nullptr || *text == '\0' ? 20260301 : std::strtoull(text, nullptr, 10);
    std::printf("TAKT_TEST_SEED=%" PRIu64 "\n", given);
    std::fflush(stdout);  // a forked child would print it once more
    return given;
  }();
  return seed;
}

/// The same numbers everywhere, unlike the distributions of the standard library (SplitMix64).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t mixed = state_ += 0x9E3779B97F4A7C15U;
    mixed = (mixed ^ (mixed >> 30U)) * 0xBF58476D1CE4E5B9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94D049BB133111EBU;
    return mixed ^ (mixed >> 31U);
  }
  /// 0 to `count` - 1.
  std::uint64_t below(std::uint64_t count) { return next() % count; }
  /// True in `percent` of 100 cases.
  bool chance(unsigned percent) { return below(100) < percent; }
  /// 0 to 1, without 1.
  double uniform() { return static_cast<double>(next() >> 11U) * 0x1p-53; }
  /// A bell of deviation 1, by addition alone, so that it is the same everywhere.
  double bell() {
    double sum = -6;
    for (int count = 0; count < 12; ++count) { sum += uniform(); }
    return sum;
  }

 private:
  std::uint64_t state_;
};

}  // namespace takt_test
