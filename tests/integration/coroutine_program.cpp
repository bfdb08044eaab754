// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Scopes in coroutines that resume on another thread, between regions of other coroutines, or never.
#include <takt/session.hpp>
#include <takt/takt.hpp>

#include "support/sanitized.hpp"

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

constexpr takt::Key kWaits{"waits"};
constexpr takt::Key kInside{"inside"};

/// Starts suspended. Its owner resumes it, on any thread, or destroys it.
class Task {
 public:
  struct promise_type {
    Task get_return_object() { return Task(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };

  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (handle_) { handle_.destroy(); }
  }
  void resume() const { handle_.resume(); }

 private:
  std::coroutine_handle<promise_type> handle_;
};

Task work() {
  const takt::Scope waits(kWaits);
  {
    const takt::Scope inside(kInside);
    co_await std::suspend_always();
  }
  co_await std::suspend_always();
}

void on_another_thread(const Task& task) {
  std::thread([&task] { task.resume(); }).join();
}

struct Counts {
  std::uint64_t calls = 0;
  std::uint64_t self_ns = 0;
  std::uint64_t total_ns = 0;
};

Counts counts_of(const takt::Snapshot& snapshot, const std::string& key) {
  Counts counts;
  for (const takt::PathStats& path : snapshot.paths) {
    if (path.name != key) { continue; }
    counts.calls += path.host.n();
    counts.self_ns += path.self_ns;
    counts.total_ns += path.host.total_ns();
  }
  return counts;
}

int expect(bool good, const char* what) {
  if (!good) { std::printf("FAILED: %s\n", what); }
  return good ? 0 : 1;
}

Task hops(unsigned times) {
  const takt::Scope waits(kWaits);
  for (unsigned hop = 0; hop < times; ++hop) {
    const takt::Scope inside(kInside);
    co_await std::suspend_always();
  }
}

std::uint64_t losses_of(const takt::Snapshot& snapshot, const std::string& what) {
  std::uint64_t count = 0;
  for (const takt::Loss& loss : snapshot.losses) { count += loss.what == what ? loss.count : 0; }
  return count;
}

/// 3000 coroutines. All are suspended inside a region between two rounds, and each is resumed by another of four
/// threads.
int many_on_four_threads() {
  // Ending a region on another thread copies the open ones, which takes minutes under a sanitizer.
  constexpr std::size_t kMany = takt_test::kSanitized ? 1000 : 3000;
  constexpr std::size_t kThreads = 4;
  constexpr unsigned kHops = 5;
  const takt::Snapshot before = takt::snapshot();
  std::vector<Task> tasks;
  for (std::size_t task = 0; task < kMany; ++task) { tasks.push_back(hops(kHops)); }
  std::atomic<unsigned> arrived{0};
  const auto work = [&](std::size_t thread) {
    for (unsigned round = 0; round <= kHops; ++round) {
      for (std::size_t task = (thread + round) % kThreads; task < kMany; task += kThreads) { tasks[task].resume(); }
      ++arrived;
      while (arrived.load() < (round + 1) * kThreads) { std::this_thread::yield(); }
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < kThreads; ++thread) { threads.emplace_back(work, thread); }
  for (std::thread& thread : threads) { thread.join(); }
  const takt::Snapshot snapshot = takt::snapshot();
  const auto gained = [&](const char* key) { return counts_of(snapshot, key).calls - counts_of(before, key).calls; };
  int failed = expect(gained("waits") == kMany, "each of many is counted once");
  failed += expect(gained("inside") == kMany * kHops, "and each of its regions");
  failed += expect(counts_of(snapshot, "(overflow)").calls == 0, "none is in the overflow");
  for (const char* const loss : {"overflow", "no_place", "never_ended", "end_without_start", "ended_late"}) {
    failed += expect(losses_of(snapshot, loss) == losses_of(before, loss), loss);
  }
  return failed + expect(snapshot.open.empty(), "none is open");
}

}  // namespace

/// \param argc more than 1: with a Session, configured by the environment.
int main(int argc, char**) {
  std::optional<takt::Session> session;
  if (argc > 1) { session.emplace("coroutines"); }
  constexpr std::uint64_t kTasks = 20;
  int failed = 0;
  std::vector<Task> tasks;
  for (std::uint64_t task = 0; task < kTasks; ++task) { tasks.push_back(work()); }
  {
    const takt::Scope batch(takt::Batch);
    for (const Task& task : tasks) { task.resume(); }            // all start here and are open at once
    for (const Task& task : tasks) { on_another_thread(task); }  // "inside" ends there
    for (std::size_t task = 0; task < kTasks / 2; ++task) {
      tasks[task].resume();
    }  // "waits" ends here, in the order of the starts
  }
  tasks.clear();  // the other half is destroyed, after the Batch
  { const takt::Scope after(takt::Forward); }

  const takt::Snapshot snapshot = takt::snapshot();
  const Counts waits = counts_of(snapshot, "waits");
  const Counts inside = counts_of(snapshot, "inside");
  failed += expect(waits.calls == kTasks, "every region that waited is counted once");
  failed += expect(inside.calls == kTasks, "every region that ended on another thread is counted once");
  failed += expect(inside.total_ns > 0 && inside.total_ns <= waits.total_ns, "their times are real");
  failed += expect(counts_of(snapshot, "Batch").calls == 1, "the Batch around them is whole");
  failed += expect(counts_of(snapshot, "Forward").calls == 1, "what comes after them is timed");
  failed += many_on_four_threads();
  return failed;
}
