// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// What Takt's own threads get of the program's signals and cores, and what happens without them.
#include <takt/exporters/memory.hpp>
#include <takt/session.hpp>
#include <takt/takt.hpp>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <unistd.h>

namespace {
std::atomic<bool> no_threads{false};
}  // namespace

// In front of the one of the C library, for the library under test too.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                              void* argument) {
  if (no_threads) { return EAGAIN; }
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  return create(thread, attributes, start, argument);
}

namespace {

std::atomic<std::uint64_t> handled{0};
std::atomic<std::uint64_t> on_takts_threads{0};

void on_signal(int) {
  char name[16] = {};
  const int error = errno;
  ::prctl(PR_GET_NAME, name);
  errno = error;
  ++handled;
  if (std::strncmp(name, "takt", 4) == 0) { ++on_takts_threads; }
}

bool is_takts(pid_t thread) {
  char path[64];
  char name[32] = {};
  std::snprintf(path, sizeof path, "/proc/self/task/%d/comm", thread);
  std::FILE* const file = std::fopen(path, "r");
  const bool read = file != nullptr && std::fgets(name, sizeof name, file) != nullptr;
  if (file != nullptr) { std::fclose(file); }
  return read && std::strncmp(name, "takt", 4) == 0;
}

/// Waits for `wanted` threads that bear Takt's name: a thread names itself.
std::vector<pid_t> takts_threads(std::size_t wanted) {
  std::vector<pid_t> found;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (found.size() < wanted && std::chrono::steady_clock::now() < deadline) {
    found.clear();
    DIR* const folder = ::opendir("/proc/self/task");
    while (const dirent* entry = ::readdir(folder)) {
      const pid_t thread = std::atoi(entry->d_name);
      if (thread > 0 && is_takts(thread)) { found.push_back(thread); }
    }
    ::closedir(folder);
    sched_yield();
  }
  return found;
}

void steps(int n) {
  for (int step = 0; step < n; ++step) {
    const takt::Scope batch(takt::Batch);
    const takt::Scope forward(takt::Forward);
  }
}

takt::SessionOptions often() {
  takt::SessionOptions options = takt::SessionOptions::from_env();
  options.period_ms = 10;
  return options;
}

/// A profiler's timer, 1 000 times a second of processor time, while the main thread does not take the signal: it goes to any
/// other thread that does.
int signals() {
  takt::Session session("threads", often());
  const takt::MemoryExporter memory;
  session.add(memory);
  struct sigaction action = {};
  action.sa_handler = on_signal;
  ::sigaction(SIGPROF, &action, nullptr);
  const itimerval often = {{0, 1000}, {0, 1000}};
  ::setitimer(ITIMER_PROF, &often, nullptr);
  sigset_t profiling;
  sigemptyset(&profiling);
  sigaddset(&profiling, SIGPROF);
  std::thread worker([] {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
    while (std::chrono::steady_clock::now() < end) {
      steps(1);
      takt::record(takt::key(("key " + std::to_string(handled.load() % 100)).c_str()), std::chrono::nanoseconds(1));
    }
  });
  ::pthread_sigmask(SIG_BLOCK, &profiling, nullptr);
  worker.join();
  session.poll();
  const itimerval never = {};
  ::setitimer(ITIMER_PROF, &never, nullptr);
  const bool closed = session.close();
  std::printf("handled %llu on takts threads %llu closed %d\n", static_cast<unsigned long long>(handled),
              static_cast<unsigned long long>(on_takts_threads), closed ? 1 : 0);
  return 0;
}

/// Every signal that can be blocked is, in each thread of Takt's, from its first instruction on.
int masks() {
  takt::Session session("threads", often());
  session.add(takt::MemoryExporter());
  for (const pid_t thread : takts_threads(2)) {
    char path[64];
    char line[256];
    std::snprintf(path, sizeof path, "/proc/self/task/%d/status", thread);
    std::FILE* const file = std::fopen(path, "r");
    while (file != nullptr && std::fgets(line, sizeof line, file) != nullptr) {
      if (std::strncmp(line, "SigBlk:", 7) == 0) { std::printf("blocked %s", line + 8); }
    }
    if (file != nullptr) { std::fclose(file); }
  }
  sigset_t mine;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &mine);
  std::printf("main blocks SIGTERM %d\n", sigismember(&mine, SIGTERM));
  return 0;
}

int wait_for_a_signal() {
  takt::Session session("threads", often());
  steps(3);
  std::puts("ready");
  std::fflush(stdout);
  for (;;) { ::pause(); }
}

int count_of(pid_t thread, int left_out) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  ::sched_getaffinity(thread, sizeof cores, &cores);
  return left_out >= 0 && CPU_ISSET(static_cast<std::size_t>(left_out), &cores) ? -1 : CPU_COUNT(&cores);
}

/// Says how many cores this thread and each of Takt's may run on; -1: the one on which the Session was made, too.
int affinity(bool pinned) {
  if (pinned) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(::sched_getcpu()), &one);
    ::sched_setaffinity(0, sizeof one, &one);
  }
  const int before = ::sched_getcpu();
  takt::Session session("threads", often());
  const bool stayed = ::sched_getcpu() == before;  // else it is not known where
  std::printf("main %d\n", count_of(0, -1));
  for (const pid_t thread : takts_threads(1)) {
    std::printf("takt %d\n", count_of(thread, stayed && !pinned ? before : -1));
  }
  return 0;
}

int without_threads() {
  no_threads = true;
  const takt::MemoryExporter memory;
  {
    takt::Session session("threads", often());
    session.add(memory);
    steps(3);
    session.poll();
    steps(2);
  }
  std::printf("shown %zu rows %zu finished %d\n", memory.snapshots(), memory.rows().size(),
              memory.last().finished ? 1 : 0);
  return 0;
}

}  // namespace

int main(int, char** arguments) {
  const std::string way = arguments[1];
  if (way == "signals") { return signals(); }
  if (way == "masks") { return masks(); }
  if (way == "wait") { return wait_for_a_signal(); }
  if (way == "pinned") { return affinity(true); }
  if (way == "free") { return affinity(false); }
  if (way == "without_threads") { return without_threads(); }
  std::fprintf(stderr, "no such way: %s\n", way.c_str());
  return 1;
}
