// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "file_lease.hpp"

#include "support/catch.hpp"
#include "support/other_processes.hpp"
#include "support/scratch.hpp"

#include <unistd.h>
#include <atomic>
#include <string>
#include <thread>

using namespace takt_test;

namespace {}  // namespace

TEST_CASE("a lease that another process has taken over is not touched any more") {
  const Scratch scratch;
  const std::string file = scratch.path("lease");
  takt::detail::FileLease lease;
  REQUIRE(lease.take(file));
  ::unlink(file.c_str());
  write_text(file, "elsewhere.invalid 1\n");
  lease.release();
  CHECK(read_text(file) == "elsewhere.invalid 1\n");
}

TEST_CASE("of two that take a stale lease at once, one has it") {
  const Scratch scratch;
  const std::string file = scratch.path("lease");
  for (int round = 0; round < 500; ++round) {
    write_text(file, this_host() + " " + std::to_string(kNobody) + "\n");
    takt::detail::FileLease leases[2];
    std::atomic<int> ready{0};
    std::atomic<int> taken{0};
    const auto take = [&](int which) {
      ready.fetch_add(1);
      while (ready.load() < 2) {}
      if (leases[which].take(file)) { taken.fetch_add(1); }
    };
    std::thread other(take, 0);
    take(1);
    other.join();
    REQUIRE(taken == 1);
    for (takt::detail::FileLease& each : leases) { each.release(); }
    REQUIRE(::access(file.c_str(), F_OK) != 0);
  }
}
