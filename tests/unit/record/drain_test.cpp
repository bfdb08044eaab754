// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/detail/drain.hpp>

#include "support/catch.hpp"

#include <cmath>
#include <cstdint>
#include <set>

namespace {

/// A ring whose first `ready` places are ready. A place queries the device unless a later one was ready.
struct Ring {
  bool look(std::uint32_t at) {
    if (taken.count(at) != 0) { return true; }
    const bool known = at - head < known_to;
    queries += known ? 0 : 1;
    if (at - head >= ready) { return false; }
    known_to = known ? known_to : at - head + 1;
    taken.insert(at);
    return true;
  }
  std::uint32_t drain(std::uint32_t size) {
    return takt::detail::drain(head, head + size, [this](std::uint32_t at) { return look(at); });
  }

  std::uint32_t head = 0;
  std::uint32_t ready = 0;
  std::uint32_t known_to = 0;
  unsigned queries = 0;
  std::set<std::uint32_t> taken;
};

}  // namespace

TEST_CASE("drain: queries at most about 2 + log2(n) places and collects half of what is ready or more") {
  for (std::uint32_t size = 1; size <= 1024; size += size < 70 ? 1 : 53) {
    for (std::uint32_t ready = 0; ready <= size; ready += 1 + size / 40) {
      Ring ring;
      ring.ready = ready;
      const std::uint32_t head = ring.drain(size);
      INFO(size << " places, " << ready << " ready");
      REQUIRE(ring.queries <= 2 + std::log2(size));
      REQUIRE(head == ring.taken.size());
      REQUIRE(2 * head >= ready);
      REQUIRE((ready != size || head == size));
    }
  }
}

TEST_CASE("drain: does not query an empty ring") {
  Ring ring;
  REQUIRE(ring.drain(0) == 0);
  REQUIRE(ring.queries == 0);
}

TEST_CASE("drain: continues when place numbers wrap") {
  for (std::uint32_t before = 0; before < 40; ++before) {
    Ring ring;
    ring.head = 0U - before;
    ring.ready = 40;
    REQUIRE(ring.drain(40) == 40 - before);
    REQUIRE(ring.taken.size() == 40);
  }
}

TEST_CASE("drain: does not skip a place that is pending although a later one is ready") {
  std::set<std::uint32_t> taken;
  const auto look = [&](std::uint32_t at) {
    if (at == 5) { return false; }
    taken.insert(at);
    return true;
  };
  REQUIRE(takt::detail::drain(0, 16, look) == 5);
  REQUIRE(taken == std::set<std::uint32_t>{0, 1, 2, 3, 4, 7, 15});
}
