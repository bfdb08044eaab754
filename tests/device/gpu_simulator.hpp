// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <unistd.h>
#include <mutex>

struct SimulatedEvent;
struct SimulatedGraph;
struct SimulatedStream;

/// When a simulated kernel ran, in ns.
struct SimulatedStamp {
  unsigned long long begin;
  unsigned long long end;
};

/// A handle that stays where it is when the context behind it is made again. Its number tells them apart.
struct SimulatedContext {
  unsigned long long number = 0;        // 0: it has been destroyed
  SimulatedContext* primary = nullptr;  // of a green context

  /// Whose events and streams go together.
  SimulatedContext& root() { return primary == nullptr ? *this : *primary; }
};

namespace gpu_simulation {

constexpr int kNoContext = 201;

/// What a call of the driver begins with, and all of it happens under one lock.
class Device {
 public:
  static Device& get();
  /// Every call: one at a time, and all fail alike after a fault, and in the child of a process that used the device.
  template <class Use>
  int call(Use use) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (owner_ == 0) { owner_ = ::getpid(); }
    if (owner_ != ::getpid()) { return 3; }
    return sticky_ != 0 ? sticky_ : use();
  }
  std::mutex& mutex() { return mutex_; }
  void fail(int error) { sticky_ = error; }

 private:
  std::mutex mutex_;
  int sticky_ = 0;
  pid_t owner_ = 0;  // the process that used the device
};

/// The context of the calling thread; nullptr: none.
SimulatedContext* current_context();

}  // namespace gpu_simulation
