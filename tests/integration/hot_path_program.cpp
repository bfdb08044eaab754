// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// The hot path makes no system calls, takes no locks and allocates nothing. This is counted, not timed: functions that
// replace those of the C library count allocations and locks, and a kernel filter kills the process on a system call.
// Exits with 77 if the kernel does not allow a filter.
//   hot_path_program      a run without files, in which events are cheapest
//   hot_path_program mlflow|mantik|wandb <url> <directory>
//                         with files and an exporter to that URL: prints "ready" once it sends, and counts after the
//                         next line of standard input
#include <takt/backends/cpu.hpp>
#include <takt/session.hpp>
#include <takt/takt.hpp>
#ifdef HAS_MLFLOW
#include <takt/exporters/mlflow.hpp>
#endif
#ifdef HAS_WANDB
#include <takt/exporters/wandb.hpp>
#endif

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>

#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

thread_local bool counting = false;
thread_local std::uint64_t allocations = 0;
thread_local std::uint64_t locks = 0;

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

// Replace the C library's functions, also for the library under test.
extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);

void* malloc(std::size_t bytes) {
  allocations += counting ? 1 : 0;
  return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) {
  allocations += counting ? 1 : 0;
  return __libc_calloc(count, bytes);
}
void* realloc(void* memory, std::size_t bytes) {
  allocations += counting ? 1 : 0;
  return __libc_realloc(memory, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  allocations += counting ? 1 : 0;
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
  allocations += counting ? 1 : 0;
  *memory = __libc_memalign(alignment, bytes);
  return *memory == nullptr ? 12 : 0;
}
int pthread_mutex_lock(pthread_mutex_t* mutex) {
  static auto* const lock = next<int(pthread_mutex_t*)>("pthread_mutex_lock");
  locks += counting ? 1 : 0;
  return lock(mutex);
}
int pthread_rwlock_rdlock(pthread_rwlock_t* mutex) {
  static auto* const lock = next<int(pthread_rwlock_t*)>("pthread_rwlock_rdlock");
  locks += counting ? 1 : 0;
  return lock(mutex);
}
}

namespace {

constexpr takt::Key kNested{"nested"};
constexpr takt::Key kSampled{"sampled"};

/// Does everything that a training loop does in every step.
void train(takt::Session& session, int steps) {
  for (int step = 0; step < steps; ++step) {
    takt::Scope batch(takt::Batch);
    batch.items(32);
    session.step(step);
    {
      takt::Scope io(takt::IO);
      io.bytes(4096);
    }
    {
      takt::Scope forward(takt::Forward);
      const takt::Scope nested(kNested);
    }
    {
      takt::Scope backward(takt::Backward);
      backward.lap(takt::Comm);
    }
    for (int round = 0; round < 20; ++round) { const takt::Scope some(kSampled, takt::every(4)); }
    takt::record(takt::Other, std::chrono::nanoseconds(100));
    session.metric("loss", 0.5);
  }
}

/// Times regions with a Timer that has its own stats.
void time(takt::Timer<takt::CpuBackend>& timer, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    timer.start(takt::Forward);
    timer.end(takt::Forward);
  }
}

/// Gives every path durations of every length, because a histogram allocates memory at the first one of an octave.
void fill_histograms(takt::Timer<takt::CpuBackend>& timer) {
  for (unsigned octave = 0; octave < 40; ++octave) {
    const std::chrono::nanoseconds length(std::int64_t{1} << octave);
    timer.record(takt::Forward, length);
    takt::record(takt::Batch, length);
    const takt::Scope batch(takt::Batch);
    for (const takt::Key* key : {&takt::IO, &takt::Forward, &takt::Backward, &takt::Comm, &takt::Other, &kSampled}) {
      takt::record(*key, length);
    }
    const takt::Scope forward(takt::Forward);
    takt::record(kNested, length);
  }
}

/// From now on any system call except exit kills this thread. Returns false if the kernel does not allow that.
bool forbid_system_calls() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      // If the kernel has no vDSO clock, reading the clock is a system call.
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  sock_fprog program{sizeof filter / sizeof filter[0], filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/// Returns the status, as of waitpid(), of a child that must not make system calls.
template <class Work>
int status_of(Work work) {
  const pid_t child = fork();
  if (child == 0) {
    if (!forbid_system_calls()) { _exit(77); }
    work();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

bool detects() {
  counting = true;
  const std::uint64_t before = allocations + locks;
  // Volatile pointers, because a compiler may remove an allocation that is only freed.
  void* (*volatile by_malloc)(std::size_t) = std::malloc;
  void* (*volatile by_new)(std::size_t) = [](std::size_t bytes) { return ::operator new(bytes); };
  std::free(by_malloc(1));
  ::operator delete(by_new(8));
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  counting = false;
  const bool all = allocations + locks - before == 3;
  allocations = locks = 0;
  return all;
}

/// Returns false if the exporter was not built.
bool add_exporter([[maybe_unused]] takt::Session& session, const std::string& name, const std::string& url,
                  const std::string& directory) {
#ifdef HAS_MLFLOW
  if (name == "mlflow" || name == "mantik") {
    takt::MlflowOptions options;
    options.tracking_uri = url;
    if (name == "mantik") {
      options.experiment_id = "1";
      options.mantik.username = "ada";
      options.mantik.password = "secret";
      options.mantik.api_url = url;
      options.mantik.token_file = directory + "/tokens.json";
    }
    options.every_step = true;
    session.add(takt::MlflowExporter(options));
    return true;
  }
#endif
#ifdef HAS_WANDB
  if (name == "wandb") {
    takt::WandbOptions options;
    options.directory = directory;
    options.base_url = url;
    options.api_key = std::string(40, 'k');
    options.every_step = true;
    session.add(takt::WandbExporter(options));
    return true;
  }
#endif
  std::printf("no exporter %s for %s and %s\n", name.c_str(), url.c_str(), directory.c_str());
  return false;
}

/// Makes steps for this time, with pauses as in training.
int train_for(takt::Session& session, std::chrono::milliseconds time) {
  using std::chrono::steady_clock;
  const auto end = steady_clock::now() + time;
  int steps = 0;
  while (steady_clock::now() < end) {
    train(session, 10);
    steps += 10;
    const auto next = steady_clock::now() + std::chrono::milliseconds(1);
    while (steady_clock::now() < next) {}
  }
  return steps;
}

/// Exits with 0 if nothing was called; otherwise the child dies.
template <class Work>
void count(takt::Timer<takt::CpuBackend>& timer, int steps, Work work) {
  counting = true;
  steps += work();
  time(timer, steps);
  counting = false;
  std::printf("%d steps: %llu allocations, %llu locks\n", steps, static_cast<unsigned long long>(allocations),
              static_cast<unsigned long long>(locks));
  std::fflush(stdout);
  if (allocations != 0 || locks != 0 || !forbid_system_calls()) { _exit(1); }
  work();
  time(timer, steps);
  _exit(0);
}

/// Returns true if the first thread's events are on the page that regions read anyway.
bool looks_up_one_page() {
  constexpr std::uintptr_t kPage = 4096;
  const auto mode = reinterpret_cast<std::uintptr_t>(&takt::detail::mode());
  return reinterpret_cast<std::uintptr_t>(takt::detail::load_cursor()) / kPage == mode / kPage;
}

/// Makes its own run with a collector; the filter applies only to the thread that requests it.
int run_alone() {
  takt::SessionOptions options;
  options.files = false;
  options.table = false;
  takt::Session session("hot path", options);
  takt::Timer<takt::CpuBackend> timer;
  constexpr int kSteps = 1000;
  train(session, kSteps);  // warm-up: creates paths, pages and rows
  if (!looks_up_one_page()) {
    std::puts("the first thread's events stand on a page of their own");
    return 1;
  }
  time(timer, kSteps);
  fill_histograms(timer);
  count(timer, kSteps, [&] {
    train(session, kSteps);
    return 0;
  });
  return 1;
}

int run_with(const std::string& exporter, const std::string& url, const std::string& directory) {
  constexpr std::chrono::milliseconds kTime(300);  // many periods
  takt::SessionOptions options;
  options.directory = directory;
  options.table = false;
  options.period = std::chrono::milliseconds(10);
  takt::Session session("hot path", options);
  if (!add_exporter(session, exporter, url, directory)) { return 2; }
  takt::Timer<takt::CpuBackend> timer;
  train_for(session, kTime);
  time(timer, 1000);
  fill_histograms(timer);
  std::puts("ready");
  std::fflush(stdout);
  if (std::getchar() == EOF) { return 2; }
  count(timer, 1000, [&] { return train_for(session, kTime); });
  return 1;
}

}  // namespace

int main(int count_of_words, char** words) {
  if (!detects()) {
    std::puts("the counters do not count");
    return 1;
  }
  const int alone = status_of([] { syscall(SYS_getpid); });
  if (WIFEXITED(alone) && WEXITSTATUS(alone) == 77) {
    std::puts("skipped: the kernel gives this process no filter");
    return 77;
  }
  if (!WIFSIGNALED(alone) || WTERMSIG(alone) != SIGSYS) {
    std::puts("the filter lets system calls through");
    return 1;
  }

  return count_of_words < 4 ? run_alone() : run_with(words[1], words[2], words[3]);
}
