// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/detail/rank_messages.hpp>

#include "ranks/gathered_ranks.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Brings the parts of all ranks to rank 0, up a binomial tree: each rank adds what its children hand over to its
/// own, and hands the sum to its parent. Nobody waits longer than `patience` for one that gives no sign; who waits for
/// others gives one several times within it. What is big is sent only when it was asked for, so that nothing big is
/// left under way to a rank that never comes. A rank whose parent does not ask turns to rank 0. One thread at a time.
class RankGathering {
 public:
  /// Of what one rank hands over; MPI counts bytes in an int.
  static constexpr std::size_t kMostBytes = std::size_t{1} << 30U;

  RankGathering(RankMessages& messages, GatheredRanks own, std::chrono::milliseconds patience,
                std::size_t most_bytes = kMostBytes);

  /// Returns on rank 0 whether all ranks are in, elsewhere whether somebody took this rank's part. Throws Error where
  /// that part is too large.
  bool run();
  /// On rank 0 what came; elsewhere what was handed over, or was to be.
  const GatheredRanks& part() const noexcept { return part_; }

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Child {
    Time heard;
    bool asked = false;
  };

  void take_children();
  void take_orphans();
  bool hand_over();
  bool is_asked_by(int rank);

  bool take();
  bool take_signs();
  bool take_parts();
  void hear(int from, bool ready);
  void add(int from, const std::string& bytes);
  void give_sign();
  bool may_have_orphans();
  template <class Done>
  void wait(Done done);
  template <class Done>
  bool wait_patiently(Done done);

  RankMessages& messages_;
  GatheredRanks part_;
  const std::chrono::milliseconds patience_;
  const std::size_t most_bytes_;
  const std::uint32_t size_;
  std::map<int, Child> awaited_;
  Time heard_;  // of anybody
  Time signed_;
  std::size_t counted_ = 0;  // ranks of the part when may_have_orphans() looked last
  bool orphans_ = false;
};

}  // namespace detail
TAKT_END_NAMESPACE
