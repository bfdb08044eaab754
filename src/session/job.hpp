// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "ranks/clock_alignment.hpp"
#include "ranks/gathered_ranks.hpp"

#include <takt/detail/rank_messages.hpp>
#include <takt/session.hpp>
#include <takt/snapshot.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Clock that is compared with those of other ranks, in ns since 1970.
using UnixClock = std::function<std::int64_t()>;

/// Queries one rank's clock, one query at a time. One thread at a time.
class ClockQueries {
 public:
  /// Maximum number and duration of a batch of queries; the time bound limits the wait if answers are slow.
  struct Bounds {
    std::size_t max = 8;
    std::chrono::nanoseconds time = std::chrono::microseconds(100);
  };

  ClockQueries(UnixClock clock, Bounds bounds) : clock_(std::move(clock)), bounds_(bounds) {}

  std::int64_t now_ns() const { return clock_(); }
  void asked() { sent_ns_ = now_ns(); }
  void answered(std::int64_t other_ns);
  /// Restarts for another rank.
  void begin_again() noexcept {
    sent_ns_.reset();
    answers_.clear();
  }

  bool is_under_way() const noexcept { return sent_ns_.has_value(); }
  bool has_answer() const noexcept { return !answers_.empty(); }
  /// Returns true if another query of this batch is useful.
  bool wants_more() const;
  /// Reading from the answer with the shortest round trip; empty if there is no answer.
  std::optional<ClockReading> reading(std::uint32_t rank) const;

 private:
  UnixClock clock_;
  Bounds bounds_;
  std::optional<std::int64_t> sent_ns_;
  std::vector<PingPong> answers_;
};

/// Gathers the parts of all ranks on rank 0 along a binomial tree: each rank merges its children's parts into its own
/// and sends the result to its parent. A rank sends its parent heartbeats from the start; the parent answers each with
/// its time. Large messages are sent only to a rank that has answered, so that none stays in flight to a missing rank.
/// A rank waits at most `timeout` for a heartbeat or an answer; if its parent is silent, it turns to rank 0. One thread
/// at a time.
class RankGathering {
 public:
  /// Maximum size of one rank's part, in bytes; MPI counts bytes in an int.
  static constexpr std::size_t kMaxBytes = std::size_t{1} << 30U;

  RankGathering(RankMessages& messages, GatheredRanks own, std::chrono::milliseconds timeout, UnixClock clock,
                ClockQueries::Bounds queries = {}, std::size_t max_bytes = kMaxBytes);

  /// Returns true if all ranks are in (rank 0), or if this rank's part was taken (other ranks). Throws Error if it is
  /// too large.
  bool run();
  /// The received parts (rank 0), or the part sent or to be sent (other ranks).
  const GatheredRanks& part() const noexcept { return part_; }
  GatheredRanks take_part() noexcept { return std::move(part_); }
  /// Clock offset to the parent or rank 0; empty if neither answered.
  std::optional<ClockReading> clock_reading() const { return queries_.reading(static_cast<std::uint32_t>(upper_)); }

 private:
  using Time = std::chrono::steady_clock::time_point;

  void take_children();
  void take_orphans();
  bool hand_over();
  bool is_answered();

  bool take();
  bool take_signs();
  bool take_parts();
  void hear(int from);
  void add(int from, const std::string& bytes);
  void give_sign();
  bool look_up();
  bool may_have_orphans();
  template <class Done>
  void wait(Done done);
  template <class Done>
  bool wait_patiently(Done done);

  RankMessages& messages_;
  GatheredRanks part_;
  const std::chrono::milliseconds timeout_;
  const std::size_t max_bytes_;
  const std::uint32_t size_;
  int upper_;  // receiver of the part: the parent, or rank 0
  ClockQueries queries_;
  std::map<int, Time> awaited_;  // time of the last message of each rank
  Time heard_;                   // time of the last message of any rank
  Time signed_;
  std::size_t counted_ = 0;  // ranks of the part at the last call of may_have_orphans()
  bool orphans_ = false;
};

}  // namespace detail
TAKT_END_NAMESPACE
