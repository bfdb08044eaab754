// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>
#include <takt/session.hpp>

#include <chrono>
#include <cstddef>
#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What a message between ranks is about.
enum class RankMessage : int {
  sign,    ///< to the parent: here, and not ready yet
  answer,  ///< to the child that has given a sign: here, too, and what time it is
  part     ///< to the parent: what the ranks below have recorded
};

/// Messages between the ranks of a job, as the header that knows MPI carries them. No call waits. One thread at a time.
class RankMessages {
 public:
  static constexpr int kAnyRank = -1;

  virtual ~RankMessages() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Begins to send, and keeps the bytes until they are gone.
  virtual void send(int to, RankMessage about, std::string bytes) = 0;
  /// Whether all that was sent is gone.
  virtual bool all_sent() = 0;
  /// The next message of that kind from `from`, if it is there whole. Of kAnyRank, `from` is then the one that sent it.
  virtual bool receive(int& from, RankMessage about, std::string& bytes) = 0;

 protected:
  RankMessages() = default;
  RankMessages(const RankMessages&) = default;
  RankMessages& operator=(const RankMessages&) = default;
};

/// Hands what the running Session has recorded so far to rank 0, whose Session speaks for the job from then on. Each
/// wait ends after `patience`. Returns on rank 0 whether all ranks are in, elsewhere whether this rank's part was
/// taken; what is missing is told. Throws nothing. The thread that may call MPI.
TAKT_EXPORT bool reduce_job(RankMessages& messages, std::chrono::milliseconds timeout) noexcept;

/// Compares the clock of this rank with that of its parent in the tree by which ranks reduce. All ranks call it, behind
/// apply(). What was found is kept for the Session. Throws nothing. The thread that may call MPI.
TAKT_EXPORT void read_clocks(RankMessages& messages) noexcept;

/// That nothing was reduced on this rank, and why.
TAKT_EXPORT void report_not_reduced(const char* why) noexcept;

constexpr std::size_t kLongestProposedRunId = 120;

/// What the ranks of a communicator have agreed on.
struct MpiIdentity {
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;
  std::string run_id;
};

/// What rank 0 calls the run: as its options do, else as the launcher does, else by the time. `world_rank` keeps apart
/// the communicators of one job; -1: there is one. At most kLongestProposedRunId bytes.
TAKT_EXPORT std::string proposed_run_id(const SessionOptions& options, int world_rank);

/// Writes it into `options`, of which a Session then keeps what ranks are compared by. What they said otherwise is
/// reported once. The thread that may call MPI.
TAKT_EXPORT void apply(const MpiIdentity& identity, SessionOptions& options);

/// That there is no MPI to ask: not yet, or not any more.
TAKT_EXPORT void report_without_mpi(bool finalized) noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
