// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Forks during a run. The last line has the parent's counts: "steps <n>", "work <n>".
#include <takt/exporters/memory.hpp>
#include <takt/session.hpp>
#include <takt/takt.hpp>

#include "support/sanitized.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace {

void steps(int n) {
  for (int step = 0; step < n; ++step) {
    const takt::Scope batch(takt::Batch);
    const takt::Scope forward(takt::Forward);
  }
}

/// Returns the exit status of a child, or -1 if it was killed.
int wait_for(pid_t child) {
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int report(int status, std::uint64_t recorded, std::uint64_t work = 0) {
  std::printf("steps %llu work %llu\n", static_cast<unsigned long long>(recorded),
              static_cast<unsigned long long>(work));
  return status;
}

takt::SessionOptions in_memory() {
  takt::SessionOptions options;
  options.files = false;
  options.table = false;
  options.background = false;
  return options;
}

/// With a sanitizer, the child of a multi-threaded process may hang.
takt::SessionOptions of_parent() {
  takt::SessionOptions options = takt::SessionOptions::from_env();
  options.background = !takt_test::kSanitized;
  return options;
}

/// The child continues like the parent and ends through exit(), or by returning with the parent's Session on its stack.
int child_goes_on(bool returns) {
  takt::Session session("parent", of_parent());
  steps(10);
  const pid_t child = [&session] {
    const takt::Scope open(takt::key("open at the fork"));
    const pid_t made = ::fork();
    if (made == 0) {
      session.metric("loss", 1);
      session.param("child", 1);
      session.step(1000);
      session.fail();
      session.poll();
      session.print();
    }
    return made;
  }();
  if (child == 0) {
    steps(1000);
    std::thread([] { steps(1000); }).join();
    if (takt::enabled() || !takt::snapshot().paths.empty() || !session.close()) { ::_exit(99); }
    if (!returns) { std::exit(5); }
    return 5;
  }
  steps(10);
  return report(wait_for(child) == 5 ? 0 : 1, 20);
}

/// The child has its own run.
int child_session() {
  takt::Session session("parent", of_parent());
  steps(10);
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    takt::Session own("child");
    steps(7);
    std::thread([] { steps(4); }).join();
    own.metric("loss", 1);
    own.close();
    std::exit(5);
  }
  steps(10);
  return report(wait_for(child) == 5 ? 0 : 1, 20);
}

/// Actions of the children, in turn. Each child has one thread, a copy of one that could have been anywhere.
void child_records() {
  steps(100);
  ::_exit(takt::snapshot().paths.empty() ? 5 : 1);
}
void child_execs() { ::execl("/bin/sh", "sh", "-c", "exit 5", nullptr); }
void child_has_a_run() {
  const takt::MemoryExporter memory;
  {
    takt::Session own("grandchild", in_memory());
    own.add(memory);
    steps(30);
    std::thread([] { steps(12); }).join();
    own.metric("of the child", 1);
  }
  const takt::Snapshot last = memory.last();
  std::uint64_t batches = 0;
  for (const takt::PathStats& path : last.paths) {
    if (path.name == "Batch") { batches += path.host.n(); }
  }
  ::_exit(batches == 42 && memory.rows().size() == 42 && last.losses.empty() ? 5 : 1);
}

int storm(int forks) {
  constexpr int kThreads = 8;
  takt::Session session("parent");
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> recorded{0};
  std::atomic<std::uint64_t> work{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&stop, &recorded, &work, thread] {
      std::uint64_t mine = 0;
      int rounds = 0;
      for (; !stop.load(std::memory_order_relaxed); ++rounds) {
        const int round = rounds;
        for (int region = 0; region < 10; ++region) { const takt::Scope scope(takt::key("work")); }
        if (round % 512 == 0) {
          steps(1);
          ++mine;
        }
        // Names and threads are created under locks, which may be held during a fork.
        const takt::Scope named(takt::key(("name " + std::to_string(thread * 100 + round % 100)).c_str()));
        if (round % 16 == 0) {
          std::thread([] { const takt::Scope brief(takt::IO); }).join();
        }
      }
      recorded += mine;
      work += 10 * static_cast<std::uint64_t>(rounds);
    });
  }
  int status = 0;
  for (int turn = 0; turn < forks; ++turn) {
    if (turn % 5 == 0) { session.poll(); }
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);  // a hanging child is killed
      if (turn % 3 == 0) { child_records(); }
      if (turn % 3 == 1) { child_execs(); }
      if (turn % 3 == 2) { child_has_a_run(); }
      ::_exit(98);
    }
    const int ended = wait_for(child);
    if (ended != 5) {
      std::fprintf(stderr, "child %d of kind %d ended with %d\n", turn, turn % 3, ended);
      status = 1;
    }
  }
  stop = true;
  for (std::thread& thread : threads) { thread.join(); }
  return report(status, recorded, work);
}

/// Forks a process that has not used Takt, while its other thread uses it for the first time.
int fork_in_first_use(int turn) {
  std::atomic<bool> begins{false};
  std::thread first([&begins] {
    begins = true;
    const takt::MemoryExporter memory;
    takt::Session session("parent", in_memory());
    session.add(memory);
    takt::key("a key of the parent's");
    session.metric("of the parent", 1);
    steps(10);
  });
  while (!begins) {}
  const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(7 * turn);
  while (std::chrono::steady_clock::now() < until) {}
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    child_has_a_run();
  }
  const int ended = wait_for(child);
  first.join();
  return ended;
}

int first_uses(int forks) {
  int status = 0;
  for (int turn = 0; turn < forks; ++turn) {
    const pid_t parent = ::fork();
    if (parent == 0) { ::_exit(fork_in_first_use(turn) == 5 ? 5 : 1); }
    if (wait_for(parent) != 5) {
      std::fprintf(stderr, "the child that was forked %d us after the first use began did not end well\n", 7 * turn);
      status = 1;
    }
  }
  return status;
}

}  // namespace

int main(int, char** arguments) {
  const std::string way = arguments[1];
  if (way == "child_exits") { return child_goes_on(false); }
  if (way == "child_returns") { return child_goes_on(true); }
  if (way == "child_session") { return child_session(); }
  if (way == "storm") { return storm(std::atoi(arguments[2])); }
  if (way == "first_uses") { return first_uses(std::atoi(arguments[2])); }
  std::fprintf(stderr, "no such way: %s\n", way.c_str());
  return 1;
}
