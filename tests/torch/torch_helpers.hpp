// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/session.hpp>
#include <takt/takt.hpp>
#include <takt/torch.hpp>

#include "support/session_helpers.hpp"

#include <ATen/ThreadLocalState.h>

#include <cstdint>
#include <functional>
#include <string>
#include <thread>

namespace takt_test {

using at::RecordScope;

/// Statistics of a path since construction, from the process-wide totals that all tests here share.
class Since {
 public:
  Since() : session_("torch", takt_test::by_hand()), before_(session_.snapshot()) {}
  /// \param path such as "Forward/aten::relu".
  std::uint64_t calls(const std::string& path) const {
    return takt_test::calls_of(session_.snapshot(), path) - takt_test::calls_of(before_, path);
  }
  /// Returns the calls of all regions outside of others.
  std::uint64_t calls_at_top() const {
    std::uint64_t calls = 0;
    const takt::Snapshot now = session_.snapshot();
    for (const takt::PathStats& each : now.paths) {
      if (each.depth == 0) { calls += each.host.n(); }
    }
    for (const takt::PathStats& each : before_.paths) {
      if (each.depth == 0) { calls -= each.host.n(); }
    }
    return calls;
  }
  takt::PathStats at(const std::string& path) const {
    const takt::Snapshot now = session_.snapshot();
    return now.paths.at(takt_test::find_path(now, path));
  }

 private:
  mutable takt::Session session_;
  takt::Snapshot before_;
};

/// Reports an operator as libtorch does.
inline void operation(const char* name, RecordScope scope = RecordScope::FUNCTION,
                      const std::function<void()>& inside = {}) {
  at::RecordFunction guard(scope);
  if (guard.isActive()) { guard.before(std::string(name)); }
  if (inside) { inside(); }
}

/// Runs `work` on a thread with this thread's libtorch state, such as autograd's thread for a GPU.
inline void on_thread_of_autograd(const std::function<void()>& work) {
  const at::ThreadLocalState state;
  std::thread([&] {
    const at::ThreadLocalStateGuard guard(state);
    work();
  }).join();
}

inline takt::TorchOpsOptions each_step(unsigned depth = 1, std::uint32_t names = 256) {
  takt::TorchOpsOptions options;
  options.every = 1;
  options.depth = depth;
  options.names = names;
  return options;
}

}  // namespace takt_test
