// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Signals come as fast as they can to a thread that records, and their handler times regions, too, at every instruction of Takt's
// sooner or later. What comes out has to be possible.
#include <takt/session.hpp>
#include <takt/takt.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include <poll.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

namespace {

constexpr takt::Key kHandler{"handler"};
constexpr takt::Key kInner{"inner"};

std::atomic<std::uint64_t> g_handled{0};

void on_signal(int) {
  const takt::Scope scope(kHandler);
  const takt::Scope inner(kInner);
  g_handled.fetch_add(1, std::memory_order_relaxed);
}

/// To this thread, about 25 000 a second.
timer_t start_signals() {
  sigevent event = {};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = SIGUSR1;
  event._sigev_un._tid = gettid();
  timer_t timer = nullptr;
  if (::timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) { std::abort(); }
  const itimerspec often = {{0, 39'937}, {0, 39'937}};
  ::timer_settime(timer, 0, &often, nullptr);
  return timer;
}

/// Steps, laps, sampled regions, amounts: all that stores events or folds them.
std::uint64_t train(takt::Session& session, double seconds) {
  std::uint64_t steps = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end) {
    takt::Scope batch(takt::Batch);
    for (int part = 0; part < 5; ++part) {
      takt::Scope scope(takt::IO);
      scope.items(2);
      scope.lap(takt::Forward);
      const takt::Scope sometimes(takt::Comm, takt::every(3));
    }
    batch.items(1);
    if (steps % 16 == 0) { session.metric("loss", 1); }
    ++steps;
  }
  return steps;
}

struct Seen {
  std::uint64_t batches = 0;
  std::uint64_t handled = 0;
  std::uint64_t losses = 0;
};

Seen seen(const takt::Snapshot& snapshot) {
  Seen result;
  for (const takt::PathStats& path : snapshot.paths) {
    if (path.name == "Batch") { result.batches += path.host.n(); }
    if (path.name == "handler") { result.handled += path.host.n(); }
  }
  for (const takt::Loss& loss : snapshot.losses) { result.losses += loss.count; }
  return result;
}

}  // namespace

int main(int count, char** arguments) {
  const double seconds = count > 1 ? std::atof(arguments[1]) : 2;
  takt::SessionOptions options = takt::SessionOptions::from_env();
  options.period_ms = 10;
  options.trace = true;
  options.trace_events = 1000;
  options.exit_ms = 30'000;
  takt::Session session("handler", options);
  { const takt::Scope used_before(kHandler); }
  { const takt::Scope used_before(kInner); }
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGUSR1, &action, nullptr);
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    while (!stop) {
      (void)session.snapshot();
      ::poll(nullptr, 0, 1);
    }
  });
  const timer_t timer = start_signals();
  const std::uint64_t steps = train(session, seconds);
  ::timer_delete(timer);
  stop = true;
  reader.join();
  ::signal(SIGUSR1, SIG_IGN);
  const takt::Snapshot last = session.snapshot();
  const Seen result = seen(last);
  std::printf("steps %llu of %llu, handled %llu of %llu, losses %llu\n",
              static_cast<unsigned long long>(result.batches), static_cast<unsigned long long>(steps),
              static_cast<unsigned long long>(result.handled), static_cast<unsigned long long>(g_handled),
              static_cast<unsigned long long>(result.losses));
  for (const takt::Loss& loss : last.losses) {
    std::printf("  %s %s %llu\n", loss.what.c_str(), loss.where.c_str(), static_cast<unsigned long long>(loss.count));
  }
  // A begin or an end may be lost, or taken for another one at the same moment; nothing is made up. (How many steps are left does not
  // matter here: one that is never ended is the matter of others.)
  const bool possible = result.batches <= steps + g_handled && result.handled <= steps + g_handled + 1;
  session.close();
  return possible && g_handled > 0 && result.batches > 0 ? 0 : 1;
}
