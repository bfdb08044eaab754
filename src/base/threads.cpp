// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/threads.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

std::atomic<long> g_running{0};           // number of running threads started here
std::atomic<std::int64_t> g_spent_ns{0};  // by threads that have ended

// Threads that have started, and finished, moving their time from their clock to g_spent_ns.
std::atomic<std::uint64_t> g_moving{0};
std::atomic<std::uint64_t> g_moved{0};

// Clocks of running threads. The kernel's clock numbers are negative, so 0 is an unused slot.
constexpr std::size_t kThreadClocks = 64;
std::atomic<clockid_t> g_thread_clock[kThreadClocks] = {};

std::atomic<clockid_t>* keep_thread_clock() noexcept {
  clockid_t mine{};
  if (pthread_getcpuclockid(pthread_self(), &mine) != 0) { return nullptr; }
  for (std::atomic<clockid_t>& each : g_thread_clock) {
    clockid_t free = 0;
    if (each.compare_exchange_strong(free, mine, std::memory_order_relaxed)) { return &each; }
  }
  return nullptr;
}

/// Returns the time, in ns; 0 if the thread has just ended.
std::int64_t read_thread_clock(clockid_t clock) noexcept {
  timespec time{};
  if (clock_gettime(clock, &time) != 0) { return 0; }
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

struct Work {
  void (*work)(void*);
  void* argument;
};

void* run(void* argument) {
  const Work todo = *static_cast<Work*>(argument);
  delete static_cast<Work*>(argument);
  std::atomic<clockid_t>* const clock = keep_thread_clock();
  todo.work(todo.argument);
  g_moving.fetch_add(1, std::memory_order_seq_cst);  // pairs with background_cpu_ns(), as the three below
  if (clock != nullptr) { clock->store(0, std::memory_order_seq_cst); }
  g_spent_ns.fetch_add(read_thread_clock(CLOCK_THREAD_CPUTIME_ID), std::memory_order_seq_cst);
  g_moved.fetch_add(1, std::memory_order_seq_cst);
  g_running.fetch_sub(1, std::memory_order_relaxed);
  return nullptr;
}

/// Excludes the current core if another one is available.
void stay_off_this_core(pthread_attr_t& attributes) noexcept {
  cpu_set_t cores;
  const int core = sched_getcpu();
  if (core >= 0 && sched_getaffinity(0, sizeof(cores), &cores) == 0 && CPU_COUNT(&cores) > 1) {
    CPU_CLR(static_cast<std::size_t>(core), &cores);
    pthread_attr_setaffinity_np(&attributes, sizeof(cores), &cores);
  }
}

}  // namespace

bool start_background(const char* name, void (*work)(void*), void* argument) noexcept {
  Work* const todo = new (std::nothrow) Work{work, argument};
  pthread_attr_t attributes;
  if (todo == nullptr || pthread_attr_init(&attributes) != 0) {
    delete todo;
    return false;
  }
  stay_off_this_core(attributes);
  // Blocks signals before the thread exists, because it inherits the mask: it never receives a signal of the program.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread{};
  g_running.fetch_add(1, std::memory_order_relaxed);
  const int status = pthread_create(&thread, &attributes, run, todo);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  if (status != 0) {
    g_running.fetch_sub(1, std::memory_order_relaxed);
    delete todo;
    return false;
  }
  pthread_setname_np(thread, name);  // named here so that the name is set on return
  pthread_detach(thread);
  return true;
}

bool alone_in_process() noexcept {
  // "<pid> (<name>) <state> ...": the state is the main thread's. The 18th number after it counts threads, including
  // the main thread until the last one ends.
  const int file = ::open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  if (file < 0) { return false; }
  char text[512];
  const ssize_t count = ::read(file, text, sizeof text - 1);
  ::close(file);
  if (count <= 0) { return false; }
  text[count] = '\0';
  const char* at = std::strrchr(text, ')');  // the name may contain parentheses
  if (at == nullptr || at[1] != ' ' || at[2] != 'Z') { return false; }
  constexpr int kFieldsBetween = 17;
  for (int field = 0; field <= kFieldsBetween && at != nullptr; ++field) { at = std::strchr(at + 1, ' '); }
  return at != nullptr && std::atol(at) == g_running.load(std::memory_order_relaxed) + 1;
}

std::int64_t background_cpu_ns() noexcept {
  constexpr int kTries = 1000;
  std::int64_t ns = 0;
  // Retries until no thread moved its time during the sum. Pairs with run().
  for (int attempt = 0; attempt < kTries; ++attempt) {
    const std::uint64_t moved = g_moved.load(std::memory_order_seq_cst);
    ns = g_spent_ns.load(std::memory_order_seq_cst);
    for (const std::atomic<clockid_t>& each : g_thread_clock) {
      const clockid_t clock = each.load(std::memory_order_seq_cst);
      if (clock != 0) { ns += read_thread_clock(clock); }
    }
    if (g_moving.load(std::memory_order_seq_cst) == moved) { break; }  // pairs with run(), like the first load
    sched_yield();
  }
  return ns;
}

void background_after_fork() noexcept {
  g_running.store(0, std::memory_order_relaxed);
  g_spent_ns.store(0, std::memory_order_relaxed);
  g_moving.store(0, std::memory_order_relaxed);
  g_moved.store(0, std::memory_order_relaxed);
  for (std::atomic<clockid_t>& each : g_thread_clock) { each.store(0, std::memory_order_relaxed); }
}

namespace {

pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;  // never destroyed: static destructors may still use timers

}  // namespace

RegistrationLock::RegistrationLock() noexcept { pthread_mutex_lock(&g_lock); }

RegistrationLock::~RegistrationLock() { pthread_mutex_unlock(&g_lock); }

void RegistrationLock::after_fork() noexcept { pthread_mutex_init(&g_lock, nullptr); }

}  // namespace detail
TAKT_END_NAMESPACE
