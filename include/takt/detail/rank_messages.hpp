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

/// Subject of a message between ranks.
enum class RankMessage : int {
  sign,    ///< to the parent: alive, but not ready yet
  answer,  ///< to a child after its heartbeat: alive, too, with the time
  part     ///< to the parent: data recorded by the ranks below
};

/// Messages between the ranks of a job; implemented by the header that knows MPI. No call waits. One thread at a time.
class RankMessages {
 public:
  static constexpr int kAnyRank = -1;

  virtual ~RankMessages() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Starts a send and keeps the bytes until it is complete.
  virtual void send(int to, RankMessage about, std::string bytes) = 0;
  /// Returns true if all sends are complete.
  virtual bool all_sent() = 0;
  /// Receives the next complete message of that kind from `from`; false if none. For kAnyRank, `from` becomes the
  /// sender.
  virtual bool receive(int& from, RankMessage about, std::string& bytes) = 0;

 protected:
  RankMessages() = default;
  RankMessages(const RankMessages&) = default;
  RankMessages& operator=(const RankMessages&) = default;
};

/// Sends the running Session's data to rank 0, whose Session then describes the job. `timeout` limits each wait.
/// Returns on rank 0 true if all ranks are included, elsewhere true if this rank's data were received; missing data are
/// reported. Never throws. Only the thread that may call MPI.
TAKT_EXPORT bool reduce_job(RankMessages& messages, std::chrono::milliseconds timeout) noexcept;

/// Compares this rank's clock with that of its parent in the reduction tree. All ranks call it, after apply(). The
/// result is kept for the Session. Never throws. Only the thread that may call MPI.
TAKT_EXPORT void read_clocks(RankMessages& messages) noexcept;

/// Reports that nothing was reduced on this rank, and why.
TAKT_EXPORT void report_not_reduced(const char* why) noexcept;

constexpr std::size_t kLongestProposedRunId = 120;

/// Identity that the ranks of a communicator have agreed on.
struct MpiIdentity {
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;
  std::string run_id;
};

/// Returns rank 0's run id: from its options, else from the launcher, else from the time. `world_rank` distinguishes
/// communicators of one job; -1: only one. At most kLongestProposedRunId bytes.
TAKT_EXPORT std::string proposed_run_id(const SessionOptions& options, int world_rank);

/// Writes the identity into `options`; a Session with them keeps the data for comparing ranks. Conflicting options are
/// reported once. Only the thread that may call MPI.
TAKT_EXPORT void apply(const MpiIdentity& identity, SessionOptions& options);

/// Reports that MPI is not available: not initialized, or already finalized.
TAKT_EXPORT void report_without_mpi(bool finalized) noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
