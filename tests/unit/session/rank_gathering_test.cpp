// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "session/job.hpp"

#include <takt/error.hpp>

#include "ranks/packed_record.hpp"
#include "session/run_identity.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using std::chrono::milliseconds;
using takt::detail::GatheredRanks;
using takt::detail::RankGathering;
using takt::detail::RankMessage;
using takt::detail::RankMessages;
using Ranks = std::vector<std::uint32_t>;

namespace {

// Far longer than any delay on a busy machine, for cases in which all ranks arrive; short for the others.
constexpr milliseconds kLong(60'000);
constexpr milliseconds kShort(1'000);

/// Messages in flight between threads that represent ranks.
struct Post {
  struct Letter {
    int from;
    int to;
    RankMessage about;
    std::string bytes;
  };
  std::mutex mutex;
  std::list<Letter> letters;
};

class RankThread final : public RankMessages {
 public:
  RankThread(Post& post, int rank, int size) : post_(post), rank_(rank), size_(size) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void send(int to, RankMessage about, std::string bytes) override {
    const std::lock_guard<std::mutex> lock(post_.mutex);
    post_.letters.push_back({rank_, to, about, std::move(bytes)});
  }
  bool all_sent() override { return true; }
  bool receive(int& from, RankMessage about, std::string& bytes) override {
    const std::lock_guard<std::mutex> lock(post_.mutex);
    for (auto at = post_.letters.begin(); at != post_.letters.end(); ++at) {
      if (at->to != rank_ || at->about != about || (from != kAnyRank && at->from != from)) { continue; }
      from = at->from;
      bytes = std::move(at->bytes);
      post_.letters.erase(at);
      return true;
    }
    return false;
  }

 private:
  Post& post_;
  int rank_;
  int size_;
};

GatheredRanks part_of(int rank) {
  const auto number = static_cast<std::uint32_t>(rank);
  return {{{number, ""}}, takt::detail::pack_record(takt::Snapshot(), number)};
}

constexpr std::int64_t kDay = std::int64_t{24} * 3600 * 1'000'000'000;

/// Returns a thread's clock, ahead by as many days as its number.
std::int64_t clock_of(int rank) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count() + rank * kDay;
}

struct Outcome {
  std::vector<int> done;  // by rank; -1: did not arrive
  std::vector<std::optional<takt::ClockReading>> readings;
  GatheredRanks of_rank_0;
};

/// Runs the gathering on all ranks except the absent ones.
Outcome gather(int size, const Ranks& absent, milliseconds timeout, Post& post) {
  Outcome outcome;
  outcome.done.assign(static_cast<std::size_t>(size), -1);
  outcome.readings.resize(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    if (std::count(absent.begin(), absent.end(), static_cast<std::uint32_t>(rank)) != 0) { continue; }
    threads.emplace_back([&, rank] {
      RankThread messages(post, rank, size);
      RankGathering gathering(messages, part_of(rank), timeout, [rank] { return clock_of(rank); });
      outcome.done[static_cast<std::size_t>(rank)] = gathering.run() ? 1 : 0;
      outcome.readings[static_cast<std::size_t>(rank)] = gathering.clock_reading();
      if (rank == 0) { outcome.of_rank_0 = gathering.part(); }
    });
  }
  for (std::thread& each : threads) { each.join(); }
  return outcome;
}

}  // namespace

TEST_CASE("Rank gathering: all parts reach rank 0") {
  for (const int size : {1, 2, 3, 5, 7, 16}) {
    Post post;
    const Outcome outcome = gather(size, {}, kLong, post);
    CHECK(outcome.done == std::vector<int>(static_cast<std::size_t>(size), 1));
    CHECK(outcome.of_rank_0.ranks.size() == static_cast<std::size_t>(size));
    CHECK(takt::detail::ranks_in(outcome.of_rank_0.record) == static_cast<std::uint64_t>(size));
    CHECK(post.letters.empty());
  }
}

TEST_CASE("Rank gathering: each rank learns its clock offset to its parent") {
  Post post;
  const Outcome outcome = gather(16, {}, kLong, post);
  CHECK_FALSE(outcome.readings[0]);
  for (std::uint32_t rank = 1; rank < 16; ++rank) {
    const auto& reading = outcome.readings[rank];
    REQUIRE(reading);
    const std::uint32_t parent = takt::detail::parent_of(rank);
    CHECK(reading->rank == parent);
    const std::int64_t off = reading->ahead_ns + static_cast<std::int64_t>(rank - parent) * kDay;
    CHECK(std::llabs(off) <= reading->error_ns);
    CHECK(reading->error_ns > 0);
  }
}

TEST_CASE("Rank gathering: ranks below an absent rank are not missing", "[timed]") {
  // 4 is the parent of 5 and 6, which is that of 7; 8 and 12 are a parent and its child.
  const Ranks absent = GENERATE(Ranks{3}, Ranks{4}, Ranks{6}, Ranks{8, 12}, Ranks{1, 2, 4, 8});
  Post post;
  const Outcome outcome = gather(16, absent, kShort, post);
  CHECK(takt::detail::missing_from(outcome.of_rank_0, 16) == absent);
  const bool is_orphan = std::count(absent.begin(), absent.end(), 4U) != 0;
  CHECK(outcome.readings[5]->rank == (is_orphan ? 0U : 4U));  // the rank that took its part
  CHECK(outcome.done[0] == 0);
  for (std::size_t rank = 1; rank < 16; ++rank) {
    const bool is_absent = std::count(absent.begin(), absent.end(), rank) != 0;
    CHECK(outcome.done[rank] == (is_absent ? -1 : 1));
  }
}

TEST_CASE("Rank gathering: if rank 0 is absent no part is taken and all continue", "[timed]") {
  Post post;
  const Outcome outcome = gather(3, {0}, kShort, post);
  CHECK(outcome.done == std::vector<int>{-1, 0, 0});
}

TEST_CASE("Rank gathering: excludes an unreadable part", "[timed]") {
  Post post;
  RankThread liar(post, 1, 2);
  liar.send(0, RankMessage::sign, "");
  liar.send(0, RankMessage::part, "no part");
  const Outcome outcome = gather(2, {1}, kShort, post);
  CHECK(takt::detail::missing_from(outcome.of_rank_0, 2) == Ranks{1});
  CHECK(outcome.done[0] == 0);
}

TEST_CASE("Rank gathering: a part beyond the limit is replaced by a note") {
  Post post;
  RankThread messages(post, 1, 2);
  RankGathering gathering(
      messages, part_of(1), kLong, [] { return clock_of(1); }, {}, 10);
  CHECK_THROWS_AS(gathering.run(), takt::Error);
  CHECK(std::none_of(post.letters.begin(), post.letters.end(),
                     [](const Post::Letter& each) { return each.about == RankMessage::part; }));
}

TEST_CASE("Rank gathering: a rank that stops sending heartbeats is not treated as present", "[timed]") {
  Post post;
  RankThread parent(post, 2, 4);  // answers once, then exits
  parent.send(3, RankMessage::answer, std::string(8, '\0'));
  const Outcome outcome = gather(4, {2}, kShort, post);
  CHECK(outcome.done == std::vector<int>{0, 1, -1, 1});
  CHECK(takt::detail::missing_from(outcome.of_rank_0, 4) == Ranks{2});
  CHECK(outcome.readings[3]->rank == 0);
}

TEST_CASE("Rank gathering: a Session with options other than those of takt::mpi keeps nothing for the job") {
  takt::SessionOptions options;
  takt::detail::apply({1, 2, 1, "job"}, options);
  CHECK(takt::detail::rank_in_job(options).compared_values > 0);
  CHECK(takt::detail::rank_in_job(takt::SessionOptions()).compared_values == 0);
  takt::SessionOptions alone;
  takt::detail::apply({0, 1, 0, "alone"}, alone);
  CHECK(takt::detail::rank_in_job(alone).compared_values == 0);
  CHECK(takt::detail::rank_in_job(options).compared_values == 0);
}
