// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include "cli/attempts.hpp"
#include "cli/rank.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// Picks the ranks of one run as they were at last, from its processes as these come by: those of the newest attempt,
/// with as many ranks as that one had; of several of one rank the one that began last. It holds those back of which it
/// does not know yet: one as a rule. One thread at a time.
class LastRanks {
 public:
  using Use = std::function<void(Rank&&)>;

  /// \param newest of the newest attempt the process that began last.
  /// \param use is shown those that count, in order, each rank once.
  LastRanks(const RunInfo& newest, const RankFolder& where, Use use);

  /// The attempt that a process is of: as its launcher counts. But agents of an elastic launcher may count differently:
  /// one that spent most of its time beside the newest one, in a world of the same size, is of that one's attempt.
  int attempt_of(const Snapshot& process) const noexcept;
  /// The next process. REQUIRES: readable, and in order of rank, attempt and begin.
  void add(Rank rank);
  /// There are no more.
  void finish();

  /// How many ranks there were, those without a journal included. A world that cannot be counts as the ranks that are
  /// there. REQUIRES: finish().
  std::uint64_t world() const noexcept;
  /// Who is left out and why, that a world cannot be, and that ranks began more than an hour apart.
  const std::vector<std::string>& remarks() const noexcept { return remarks_; }

 private:
  bool is_of_last(const Snapshot& process) const noexcept;
  void take(Rank&& rank);
  void use(Rank&& rank);

  struct Begin {
    std::int64_t unix_ns = 0;
    int rank = 0;
  };

  int attempt_;
  std::int64_t start_unix_ns_;  // of the newest one
  int newest_world_;            // as it says
  bool is_possible_;
  int world_;  // as far as it is known
  Use use_;
  std::deque<Rank> waiting_;  // of which that is not known yet
  std::optional<Rank> last_;  // which a later process of its rank may follow
  std::uint64_t used_ = 0;
  Begin earliest_;  // of those that are used
  Begin latest_;
  std::vector<std::string> remarks_;
};

/// The same of processes that are at hand, in any order.
struct PickedRanks {
  std::vector<Rank> ranks;  ///< in order, each once
  std::uint64_t world = 0;
  std::vector<std::string> remarks;
  std::vector<AttemptSpan> attempts;

  std::uint64_t missing() const noexcept { return world - ranks.size(); }
};

/// REQUIRES: one or more, all readable.
PickedRanks pick_last(std::vector<Rank> of_run);

/// Of a world of ranks those that are not among these, which are in order. Ascending.
std::vector<std::uint32_t> missing_ranks(const std::vector<Rank>& ranks, std::uint64_t world);

/// Says the remarks on stderr.
void tell_left_out(const std::vector<std::string>& remarks);

}  // namespace cli
TAKT_END_NAMESPACE
