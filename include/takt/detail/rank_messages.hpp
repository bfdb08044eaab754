// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <string>

#include <takt/detail/macros_begin.hpp>

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

}  // namespace detail
TAKT_END_NAMESPACE

#include <takt/detail/macros_end.hpp>
