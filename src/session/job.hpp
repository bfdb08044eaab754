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

/// What a Session needs to know of its rank's job, beside its options.
struct RankInJob {
  int rank = 0;
  int world_size = 0;               ///< 0: takt::mpi::options() was not called
  std::size_t compared_values = 0;  ///< of its steps (a step is one, and so is each region in it), kept for reduce()
  std::optional<ClockReading> clock_reading;
};

/// As takt::mpi::options() has found it last; nothing if `options` are not those of that rank.
RankInJob rank_in_job(const SessionOptions& options) noexcept;

/// A clock that is compared with those of other ranks, in ns since 1970.
using UnixClock = std::function<std::int64_t()>;

/// Questions to one rank for its time, one at a time. One thread at a time.
class ClockQueries {
 public:
  /// So many in a row, or for so long: nobody is to wait for many where answers take long.
  struct Bounds {
    std::size_t max = 8;
    std::chrono::nanoseconds time = std::chrono::microseconds(100);
  };

  ClockQueries(UnixClock clock, Bounds bounds) : clock_(std::move(clock)), bounds_(bounds) {}

  std::int64_t now_ns() const { return clock_(); }
  void asked() { sent_ns_ = now_ns(); }
  void answered(std::int64_t other_ns);
  /// To another rank from now on.
  void begin_again() noexcept {
    sent_ns_.reset();
    answers_.clear();
  }

  bool is_under_way() const noexcept { return sent_ns_.has_value(); }
  bool has_answer() const noexcept { return !answers_.empty(); }
  /// Whether another one in this row is worth it.
  bool wants_more() const;
  /// By the answer that took the shortest way there and back; none: there is no answer.
  std::optional<ClockReading> reading(std::uint32_t rank) const;

 private:
  UnixClock clock_;
  Bounds bounds_;
  std::optional<std::int64_t> sent_ns_;
  std::vector<PingPong> answers_;
};

/// Brings the parts of all ranks to rank 0, up a binomial tree: each rank adds what its children hand over to its
/// own, and hands the sum to its parent. A rank gives its parent signs, from its beginning on, and the parent answers
/// each with its time. What is big is sent only to one that has answered, so that nothing big is left under way to a
/// rank that never comes. Nobody waits longer than `patience` for one that gives no sign, or no answer; a rank whose
/// parent does not answer turns to rank 0. One thread at a time.
class RankGathering {
 public:
  /// Of what one rank hands over; MPI counts bytes in an int.
  static constexpr std::size_t kMaxBytes = std::size_t{1} << 30U;

  RankGathering(RankMessages& messages, GatheredRanks own, std::chrono::milliseconds timeout, UnixClock clock,
                ClockQueries::Bounds queries = {}, std::size_t max_bytes = kMaxBytes);

  /// Returns on rank 0 whether all ranks are in, elsewhere whether somebody took this rank's part. Throws Error where
  /// that part is too large.
  bool run();
  /// On rank 0 what came; elsewhere what was handed over, or was to be.
  const GatheredRanks& part() const noexcept { return part_; }
  GatheredRanks take_part() noexcept { return std::move(part_); }
  /// How the clock stands to that of the parent, or of rank 0; none: nobody has answered.
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
  int upper_;  // to which the part goes: the parent, or rank 0
  ClockQueries queries_;
  std::map<int, Time> awaited_;  // when they were heard of
  Time heard_;                   // of anybody
  Time signed_;
  std::size_t counted_ = 0;  // ranks of the part when may_have_orphans() looked last
  bool orphans_ = false;
};

}  // namespace detail
TAKT_END_NAMESPACE
