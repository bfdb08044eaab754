// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <unistd.h>
#include <mutex>

struct SimulatedEvent;
struct SimulatedGraph;
struct SimulatedStream;

/// Start and end of a simulated kernel, in ns.
struct SimulatedStamp {
  unsigned long long begin;
  unsigned long long end;
};

/// A handle that keeps its address when its context is recreated. The ID distinguishes them.
struct SimulatedContext {
  unsigned long long number = 0;        // ID; 0: destroyed
  SimulatedContext* primary = nullptr;  // for green contexts

  /// Returns the context that events and streams are shared with.
  SimulatedContext& root() { return primary == nullptr ? *this : *primary; }
};

namespace gpu_simulation {

constexpr int kNoContext = 201;

/// State behind every driver call, protected by one lock.
class Device {
 public:
  static Device& get();
  /// Makes a call: one at a time. All calls fail alike after a device error and in the child of a process that used the
  /// device.
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

/// Returns the calling thread's context; nullptr: none.
SimulatedContext* current_context();

}  // namespace gpu_simulation
