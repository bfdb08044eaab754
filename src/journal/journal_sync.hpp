// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include "base/descriptor.hpp"

#include <chrono>
#include <memory>
#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Has files written through to the disk, so that they outlive a power cut. That can take seconds: a thread of its own
/// waits, for as long as there is something to do, and nobody waits for it who does not want to. One thread at a time.
class JournalSync {
 public:
  /// \param directory of the files: their names have to reach the disk, too.
  /// \param threads false: nothing is ever written through.
  JournalSync(std::string directory, bool threads);

  /// Takes a file that nobody will write to any more, to be written through by the next start().
  void adopt(Descriptor file) noexcept;
  /// Begins, unless the last time is not over yet. \param descriptor of a file that goes on, -1: none; is duplicated.
  void start(int descriptor) noexcept;
  /// Whether the disk has refused since this was last asked: what it was given may not be there.
  bool take_failure() noexcept;
  /// Waits until nothing is under way, for at most `most`.
  void wait(std::chrono::milliseconds most);

 private:
  struct State;
  static void run(void* share);
  std::shared_ptr<State> state_;  // the thread's as well: it may outlive this
  bool threads_;
};

}  // namespace detail
TAKT_END_NAMESPACE
