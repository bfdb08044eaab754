// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <chrono>
#include <string>

#include <signal.h>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// The terminal of stdout, on which a text takes the place of the one before. What was on it stays, and is back when
/// this leaves. Signals wait meanwhile until wait() takes them. One at a time, in a process of one thread.
class Screen {
 public:
  enum class Event { none, resized, stop };

  /// Whether stdout is a terminal that can do this.
  static bool is_there();

  Screen();
  /// Leaves, and lets signals through.
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  /// Lines for which there is no room are counted in the last one.
  void draw(const std::string& text);
  /// Waits for something, no longer than so. A process that was stopped in between is back on its screen then.
  Event wait(std::chrono::nanoseconds longest);
  /// Gives the terminal back; further calls do nothing.
  void leave();
  /// The signal that asked to stop; 0: none has.
  int stop_signal() const noexcept { return stop_signal_; }

 private:
  void enter();
  void suspend();

  sigset_t mask_before_ = {};
  bool entered_ = false;
  int stop_signal_ = 0;
};

}  // namespace cli
TAKT_END_NAMESPACE
