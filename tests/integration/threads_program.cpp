// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Effects of the program's signals and cores on Takt's own threads, and behavior without these threads.
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
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

namespace {
std::atomic<bool> no_threads{false};
std::atomic<int> core_of_main{-1};  // core reported for the main thread; -1: the actual one
std::atomic<int> cores_of_sync{0};  // number of cores of the thread that syncs the journal to disk

/// Returns how many cores a thread may use; -1: includes the main thread's core.
int cores_of(pid_t thread) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  ::sched_getaffinity(thread, sizeof cores, &cores);
  return core_of_main >= 0 && CPU_ISSET(static_cast<std::size_t>(core_of_main), &cores) ? -1 : CPU_COUNT(&cores);
}
}  // namespace

// Replaces the C library's function, also for the library under test.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                              void* argument) {
  if (no_threads) { return EAGAIN; }
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  return create(thread, attributes, start, argument);
}
extern "C" int sched_getcpu() noexcept {
  unsigned core = 0;
  const bool known = ::syscall(SYS_getcpu, &core, nullptr, nullptr) == 0;
  if (core_of_main >= 0 && gettid() == getpid()) { return core_of_main; }
  return known ? static_cast<int>(core) : -1;
}
extern "C" int fdatasync(int descriptor) {
  cores_of_sync = cores_of(0);
  return static_cast<int>(::syscall(SYS_fdatasync, descriptor));
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

/// Includes the newline.
std::string name_of(pid_t thread) {
  char path[64];
  char name[32] = {};
  std::snprintf(path, sizeof path, "/proc/self/task/%d/comm", thread);
  std::FILE* const file = std::fopen(path, "r");
  const bool read = file != nullptr && std::fgets(name, sizeof name, file) != nullptr;
  if (file != nullptr) { std::fclose(file); }
  return read ? name : "";
}

/// Waits for `wanted` threads with Takt's names: a thread names itself.
std::vector<pid_t> takts_threads(std::size_t wanted) {
  std::vector<pid_t> found;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (found.size() < wanted && std::chrono::steady_clock::now() < deadline) {
    found.clear();
    DIR* const directory = ::opendir("/proc/self/task");
    while (const dirent* entry = ::readdir(directory)) {
      const pid_t thread = std::atoi(entry->d_name);
      if (thread > 0 && name_of(thread).compare(0, 4, "takt") == 0) { found.push_back(thread); }
    }
    ::closedir(directory);
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
  options.period = std::chrono::milliseconds(10);
  return options;
}

/// A Session with all its permanent threads: takt, takt-export and takt-sigterm.
constexpr std::size_t kThreads = 3;
takt::SessionOptions with_all_threads() {
  takt::SessionOptions options = often();
  options.end_on_sigterm = true;
  return options;
}

/// A profiler's timer, 1000 times per second of processor time, while the main thread blocks the signal: it goes to any
/// other thread that does not.
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
      const auto next = std::chrono::steady_clock::now() + std::chrono::microseconds(100);
      while (std::chrono::steady_clock::now() < next) {}  // a rate at which no data is dropped
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

/// Each of Takt's threads blocks every blockable signal from its first instruction on.
int masks() {
  takt::Session session("threads", with_all_threads());
  session.add(takt::MemoryExporter());
  for (const pid_t thread : takts_threads(kThreads)) {
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

/// Prints how many cores this thread and each of Takt's may use.
int affinity(bool pinned) {
  const int core = ::sched_getcpu();
  if (pinned) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(core), &one);
    ::sched_setaffinity(0, sizeof one, &one);
  }
  std::printf("main %d\n", cores_of(0));
  if (!pinned) { core_of_main = core; }
  takt::Session session("threads", with_all_threads());
  session.add(takt::MemoryExporter());
  steps(3);
  for (const pid_t thread : takts_threads(kThreads)) {
    const std::string name = name_of(thread);
    std::printf("%s %d\n", name.substr(0, name.find('\n')).c_str(), cores_of(thread));
  }
  session.close();  // syncs the journal to disk, with a short timeout
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (cores_of_sync == 0 && std::chrono::steady_clock::now() < deadline) { sched_yield(); }
  std::printf("takt-sync %d\n", cores_of_sync.load());
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
