// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "trackers/tracker_files.hpp"

#include "support/catch.hpp"
#include "support/other_processes.hpp"
#include "support/scratch.hpp"
#include "support/stolen_descriptors.hpp"

#include <atomic>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace takt_test;

TEST_CASE("Lease: is not touched after another process has taken it over") {
  const Scratch scratch;
  const std::string file = scratch.path("lease");
  takt::detail::FileLease lease;
  REQUIRE(lease.take(file));
  ::unlink(file.c_str());
  write_text(file, "elsewhere.invalid 1\n");
  lease.release();
  CHECK(read_text(file) == "elsewhere.invalid 1\n");
}

TEST_CASE("Cursor: is not written after another process has taken the lease") {
  const Scratch scratch;
  const std::string file = scratch.path("lease");
  takt::detail::FileLease lease;
  REQUIRE(lease.take(file));
  takt::detail::CursorFile cursor;
  cursor.keep(scratch.path("cursor"), &lease);
  REQUIRE(cursor.save("1"));
  ::unlink(file.c_str());
  write_text(file, "elsewhere.invalid 1\n");
  write_text(scratch.path("cursor"), "5");
  CHECK_FALSE(cursor.save("2"));
  CHECK(contains(cursor.problem(), "another process took over the lease"));
  CHECK(read_text(scratch.path("cursor")) == "5");
  CHECK_FALSE(lease.refresh());
}

TEST_CASE("Cursor: a lease that this process returned is not reported as another process's") {
  const Scratch scratch;
  takt::detail::FileLease lease;
  REQUIRE(lease.take(scratch.path("lease")));
  takt::detail::CursorFile cursor;
  cursor.keep(scratch.path("cursor"), &lease);
  lease.release();
  CHECK_FALSE(cursor.save("1"));
  CHECK(contains(cursor.problem(), "does not hold the lease"));
}

TEST_CASE("Lease: only one of two concurrent processes gets a stale lease") {
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

TEST_CASE("Lease: is returned if the program reused its descriptor, which is left alone") {
  const Scratch scratch;
  takt::detail::FileLease lease;
  REQUIRE(lease.take(scratch.path("lease")));
  const std::vector<int> numbers = open_files("/lease");
  REQUIRE(numbers.size() == 1);
  steal(numbers[0], scratch.path("program's"));
  lease.release();
  CHECK_FALSE(lease.held());
  CHECK_FALSE(exists(scratch.path("lease")));
  CHECK(::fcntl(numbers[0], F_GETFD) != -1);
  CHECK(read_text(scratch.path("program's")).empty());
  ::close(numbers[0]);
}

TEST_CASE("Lease: a special file is not a lease and is unchanged") {
  const Scratch scratch;
  write_text(scratch.path("victim"), this_host() + " " + std::to_string(kNobody) + "\n");
  const std::string file = scratch.path("lease");
  SECTION("pipe") { REQUIRE(::mkfifo(file.c_str(), 0600) == 0); }
  SECTION("directory") { REQUIRE(::mkdir(file.c_str(), 0700) == 0); }
  SECTION("link") { REQUIRE(::symlink("victim", file.c_str()) == 0); }
  struct stat before = {};
  struct stat after = {};
  REQUIRE(::lstat(file.c_str(), &before) == 0);
  timespec old[2] = {};
  REQUIRE(::utimensat(AT_FDCWD, file.c_str(), old, AT_SYMLINK_NOFOLLOW) == 0);
  takt::detail::FileLease lease;
  CHECK_FALSE(lease.take(file));
  CHECK(lease.is_broken());
  CHECK(contains(lease.problem(), file));
  REQUIRE(::lstat(file.c_str(), &after) == 0);
  CHECK(after.st_ino == before.st_ino);
  CHECK(contains(read_text(scratch.path("victim")), this_host()));
  CHECK(std::distance(std::filesystem::directory_iterator(scratch.path("")), std::filesystem::directory_iterator()) ==
        2);
}
