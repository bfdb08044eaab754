// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/memory.hpp>
#include <takt/takt.hpp>

#include "base/region_memory.hpp"
#include "support/catch.hpp"
#include "support/sanitized.hpp"
#include "support/session_helpers.hpp"

#include <cstdint>
#include <cstring>
#include <deque>
#include <fstream>
#include <string>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

using takt::MemoryScope;
using takt::RegionMemory;
using takt::Snapshot;

namespace {

constexpr std::int64_t kMiB = 1 << 20;
/// The kernel counts pages of each thread in batches, and other allocations of the test count, too.
constexpr std::int64_t kNear = 2 * kMiB;
constexpr takt::Key Grow{"grow"};
constexpr takt::Key Shrink{"shrink"};

/// Pages that are resident.
class Pages {
 public:
  explicit Pages(std::int64_t bytes)
      : bytes_(static_cast<std::size_t>(bytes)),
        at_(::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    REQUIRE(at_ != MAP_FAILED);
    std::memset(at_, 1, bytes_);
  }
  ~Pages() { give_back(); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  void give_back() {
    if (at_ != nullptr) { ::munmap(at_, bytes_); }
    at_ = nullptr;
  }

 private:
  std::size_t bytes_;
  void* at_;
};

/// Reads VmRSS, another file than Takt does.
std::int64_t resident_by_status() {
  std::ifstream status("/proc/self/status");
  std::string word;
  std::int64_t kib = -1;
  while (status >> word && word != "VmRSS:") {}
  status >> kib;
  return kib * 1024;
}

RegionMemory memory_of(const Snapshot& snapshot, const std::string& name) {
  for (const RegionMemory& each : snapshot.region_memories) {
    if (each.name == name) { return each; }
  }
  return {};
}

/// Always true under a sanitizer, whose shadow of the memory counts, too.
bool near(std::int64_t bytes, std::int64_t expected) {
  return takt_test::kSanitized || std::abs(bytes - expected) < kNear;
}

std::int64_t allocated = 0;

}  // namespace

TEST_CASE("MemoryScope: notes the change and the peak of resident memory in calls of a region") {
  takt::Session session("memory", takt_test::by_hand());
  const std::int64_t before = resident_by_status();
  CHECK(near(takt::detail::resident_bytes(), before));
  std::deque<Pages> pages;
  for (const std::int64_t mib : {64, 16}) {
    const MemoryScope s(Grow);
    pages.emplace_back(mib * kMiB);
  }
  {
    const MemoryScope s(Shrink);
    pages.pop_front();
  }
  const Snapshot now = session.snapshot();
  const takt::MemoryFigures grow = memory_of(now, "grow").resident;
  CHECK(grow.calls == 2);
  CHECK(near(grow.change_bytes, 80 * kMiB));
  CHECK(near(grow.max_change_bytes, 64 * kMiB));
  CHECK(near(grow.peak_bytes, before + 80 * kMiB));
  const takt::MemoryFigures shrink = memory_of(now, "shrink").resident;
  CHECK(shrink.calls == 1);
  CHECK(near(shrink.change_bytes, -64 * kMiB));
  CHECK(near(shrink.max_change_bytes, -64 * kMiB));
  CHECK(near(shrink.peak_bytes, before + 80 * kMiB));  // at its start
  CHECK(memory_of(now, "grow").allocator.calls == 0);
  CHECK(takt_test::calls_of(now, "grow") == 2);
}

TEST_CASE("MemoryScope: a peak inside a call is known if a sample met it") {
  takt::Session session("memory", takt_test::by_hand());
  const std::int64_t before = resident_by_status();
  const auto peak_of = [&](bool sampled) {
    const takt::Key& key = sampled ? Grow : Shrink;
    {
      const MemoryScope s(key);
      Pages pages(32 * kMiB);
      if (sampled) { takt::detail::note_resident_sample(resident_by_status()); }
    }
    const takt::MemoryFigures figures = memory_of(session.snapshot(), key.name()).resident;
    CHECK(near(figures.change_bytes, 0));
    return figures.peak_bytes;
  };
  CHECK(near(peak_of(false), before));
  CHECK(near(peak_of(true), before + 32 * kMiB));
  takt::detail::note_resident_sample(before + 1000 * kMiB);  // nothing is open
  CHECK(near(peak_of(false), before));
}

TEST_CASE("MemoryScope: notes what the program's allocator tells, at the start and the end") {
  takt::Session session("memory", takt_test::by_hand());
  allocated = 100;
  takt::set_allocator_memory([] { return allocated; });
  for (const std::int64_t after : {700, 300, 250}) {
    const MemoryScope s(Grow);
    allocated = after;
  }
  takt::set_allocator_memory(nullptr);
  { const MemoryScope s(Grow); }
  const RegionMemory memory = memory_of(session.snapshot(), "grow");
  CHECK(memory.resident.calls == 4);
  CHECK(memory.allocator.calls == 3);
  CHECK(memory.allocator.change_bytes == 150);
  CHECK(memory.allocator.max_change_bytes == 600);
  CHECK(memory.allocator.peak_bytes == 700);
}

TEST_CASE("MemoryScope: regions beyond the bounds are timed and counted") {
  takt::Session session("memory", takt_test::by_hand());
  {
    std::deque<MemoryScope> open;
    for (int number = 0; number < 66; ++number) { open.emplace_back(Grow); }
    while (!open.empty()) { open.pop_back(); }
  }
  for (int number = 0; number < 70; ++number) { const MemoryScope s(takt::key("key " + std::to_string(number))); }
  const Snapshot now = session.snapshot();
  CHECK(memory_of(now, "grow").resident.calls == 64);
  CHECK(now.region_memories.size() == 64);
  CHECK(takt_test::losses_of(now, "memories_not_noted") == 2 + 7);
  CHECK(takt_test::path_called(now, "key 69").host.n() == 1);
}

TEST_CASE("MemoryScope: does nothing while recording is off, and a forked child starts without regions") {
  takt::set_enabled(false);
  { const MemoryScope s(Grow); }
  takt::set_enabled(true);
  std::uint64_t lost = 0;
  CHECK(takt::detail::region_memories(lost).empty());
  const MemoryScope outer(Shrink);
  const pid_t child = ::fork();
  if (child == 0) {
    bool right = takt::detail::region_memories(lost).empty();
    const takt::Session session("child", takt_test::by_hand());
    { const MemoryScope s(Grow); }
    right = right && takt::detail::region_memories(lost).size() == 1;
    ::_exit(right ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(takt::detail::region_memories(lost).front().name == "shrink");
}
