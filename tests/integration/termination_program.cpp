// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Receives SIGTERM in the situation named by its argument; with TAKT_SIGTERM=1 that ends its run. Prints "ready" when
// it waits for the signal or for a line of standard input.
#include <takt/exporters/memory.hpp>
#include <takt/session.hpp>
#include <takt/takt.hpp>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

void steps(int n) {
  for (int step = 0; step < n; ++step) {
    const takt::Scope batch(takt::Batch);
    const takt::Scope forward(takt::Forward);
  }
}

void say(const char* word) {
  std::puts(word);
  std::fflush(stdout);
}

struct sigaction current_action() {
  struct sigaction action = {};
  ::sigaction(SIGTERM, nullptr, &action);
  return action;
}

/// Only waits, so that a handler is called at once, also under ThreadSanitizer.
[[noreturn]] void wait_for_ever() {
  for (;;) { ::pause(); }
}

void wait_for_line() {
  say("ready");
  char last = 0;
  ssize_t got = 1;
  while (got > 0 && last != '\n') {
    do { got = ::read(STDIN_FILENO, &last, 1); } while (got < 0 && errno == EINTR);
  }
  if (got <= 0) { wait_for_ever(); }
}

int hang() {
  takt::Session session("termination");
  steps(3);
  const takt::Scope epoch(takt::Epoch);
  const takt::Scope comm(takt::Comm);
  say("ready");
  wait_for_ever();
}

/// Steps without a duration would record rows faster than they are collected.
void pause() {
  const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(100);
  while (std::chrono::steady_clock::now() < until) {}
}

/// Four threads record while the run ends, unaware of it.
int record() {
  takt::Session session("termination");
  static std::atomic<int> going{0};
  for (int thread = 0; thread < 4; ++thread) {
    std::thread([&session] {
      steps(1);  // before the signal arrives: the summary must have each thread
      ++going;
      for (;;) {
        steps(1);
        session.metric("loss", 1);
        session.param("lr", 0.5);
        pause();
      }
    }).detach();
  }
  while (going < 4) { std::this_thread::yield(); }
  say("ready");
  wait_for_ever();
}

/// Reports that it got the last snapshot; then returns on request, or never.
class Slow final : public takt::Exporter {
 public:
  const char* name() const noexcept override { return "slow"; }
  takt::ExportResult export_snapshot(const takt::Snapshot& snapshot) override {
    if (!snapshot.finished) { return takt::ExportResult::ok; }
    std::unique_lock<std::mutex> lock(mutex_);
    ending_ = true;
    changed_.notify_all();
    say("ending");
    changed_.wait(lock, [this] { return reported_; });
    return takt::ExportResult::ok;
  }
  void wait_for_end() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return ending_; });
  }
  void report() {
    const std::lock_guard<std::mutex> lock(mutex_);
    reported_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ending_ = false;
  bool reported_ = false;
};

class Shared final : public takt::Exporter {
 public:
  explicit Shared(Slow& slow) : slow_(slow) {}
  const char* name() const noexcept override { return slow_.name(); }
  takt::ExportResult export_snapshot(const takt::Snapshot& snapshot) override {
    return slow_.export_snapshot(snapshot);
  }

 private:
  Slow& slow_;
};

/// The end takes all the time that it may.
int stuck() {
  static Slow slow;
  takt::Session session("termination");
  session.add(Shared(slow));
  steps(3);
  say("ready");
  wait_for_ever();
}

/// The program ends with its own status while the run ends.
int leaves() {
  static Slow slow;
  takt::Session session("termination");
  session.add(Shared(slow));
  steps(3);
  say("ready");
  slow.wait_for_end();
  session.add(takt::MemoryExporter());  // too late, which is not an error of the test
  slow.report();
  return 3;
}

// The program's own handlers.
std::atomic<int> g_called{0};
std::atomic<bool> g_as_set{false};
pid_t g_sender = 0;

void check_mask() {
  sigset_t blocked;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  g_as_set = sigismember(&blocked, SIGTERM) == 1 && sigismember(&blocked, SIGUSR1) == 1;
  ++g_called;
}
void plain_handler(int signal) {
  check_mask();
  g_as_set = g_as_set && signal == SIGTERM;
}
void full_handler(int signal, siginfo_t* info, void* context) {
  check_mask();
  g_as_set = g_as_set && signal == SIGTERM && info->si_pid == g_sender && context != nullptr;
}

struct sigaction own_action(bool full) {
  struct sigaction own = {};
  sigaddset(&own.sa_mask, SIGUSR1);
  own.sa_flags = SA_RESTART | (full ? SA_SIGINFO : 0);
  if (full) {
    own.sa_sigaction = full_handler;
  } else {
    own.sa_handler = plain_handler;
  }
  return own;
}

bool is_in_force(const struct sigaction& own) {
  const struct sigaction now = current_action();
  return now.sa_sigaction == own.sa_sigaction && sigismember(&now.sa_mask, SIGUSR1) == 1 &&
         (now.sa_flags & (SA_RESTART | SA_SIGINFO)) == (own.sa_flags & (SA_RESTART | SA_SIGINFO));
}

/// Continues after its own handler was called.
int chained(bool full) {
  const struct sigaction own = own_action(full);
  ::sigaction(SIGTERM, &own, nullptr);
  g_sender = ::getppid();
  {
    takt::Session session("termination");
    steps(3);
    const bool covered = !is_in_force(own);
    wait_for_line();
    steps(2);
    std::printf("called %d as set %d covered %d\n", g_called.load(), g_as_set ? 1 : 0, covered ? 1 : 0);
  }
  std::printf("restored %d\n", is_in_force(own) ? 1 : 0);
  return 0;
}

/// A handler that is set after the Session and calls the previous one, as it should.
struct sigaction g_found = {};
void polite_handler(int signal, siginfo_t* info, void* context) {
  ++g_called;
  g_found.sa_sigaction(signal, info, context);
}

/// `polite`: the later handler calls the previous one. The Session does not change it when it ends. A second Session
/// gives the same result in the end.
int covered(bool polite, int sessions) {
  {
    takt::Session session("termination");
    g_found = current_action();
    struct sigaction own = own_action(false);
    if (polite) {
      own.sa_flags |= SA_SIGINFO;
      own.sa_sigaction = polite_handler;
    }
    ::sigaction(SIGTERM, &own, nullptr);
    steps(3);
    if (sessions == 1) { wait_for_line(); }
  }
  if (sessions == 2) {
    takt::Session session("second");
    steps(3);
    wait_for_line();
  }
  std::printf("called %d kept %d\n", g_called.load(), current_action().sa_handler == plain_handler ? 1 : 0);
  return 0;
}

int ignored() {
  ::signal(SIGTERM, SIG_IGN);
  takt::Session session("termination");
  steps(3);
  const bool still = current_action().sa_handler == SIG_IGN;
  wait_for_line();
  steps(2);
  std::printf("still %d\n", still ? 1 : 0);
  return 0;
}

/// Prints the disposition of SIGTERM without a signal: while a Session exists and after it is closed, twice.
int disposition() {
  for (const char* name : {"first", "second"}) {
    takt::Session session(name);
    const bool usual = current_action().sa_handler == SIG_DFL;
    session.close();
    const bool usual_after = current_action().sa_handler == SIG_DFL;
    std::printf("default %d after %d\n", usual ? 1 : 0, usual_after ? 1 : 0);
  }
  return 0;
}

/// Forks a child of a program with a Session; with `session` the child has its own. Prints the child's status and
/// continues.
int forks(bool own_handler, bool session_of_child) {
  const struct sigaction own = own_action(false);
  if (own_handler) { ::sigaction(SIGTERM, &own, nullptr); }
  takt::SessionOptions options = takt::SessionOptions::from_env();
  takt::Session session("termination", options);
  steps(3);
  const pid_t child = ::fork();
  if (child == 0) {
    if (session_of_child) {
      takt::Session mine("child", options);
      steps(4);
      ::kill(::getpid(), SIGTERM);
      wait_for_ever();
    }
    ::kill(::getpid(), SIGTERM);
    ::_exit(g_called == 1 ? 5 : 6);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  steps(2);
  std::printf("child %d\n", WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status));
  return 0;
}

int by_hand() {
  takt::SessionOptions options = takt::SessionOptions::from_env();
  options.background = false;
  takt::Session session("termination", options);
  steps(3);
  std::printf("default %d\n", current_action().sa_handler == SIG_DFL ? 1 : 0);
  return 0;
}

}  // namespace

int main(int, char** arguments) {
  const std::string way = arguments[1];
  if (way == "hang") { return hang(); }
  if (way == "record") { return record(); }
  if (way == "stuck") { return stuck(); }
  if (way == "leaves") { return leaves(); }
  if (way == "chained") { return chained(false); }
  if (way == "chained_siginfo") { return chained(true); }
  if (way == "covered") { return covered(false, 1); }
  if (way == "covered_politely") { return covered(true, 1); }
  if (way == "covered_before") { return covered(true, 2); }
  if (way == "ignored") { return ignored(); }
  if (way == "disposition") { return disposition(); }
  if (way == "forks") { return forks(false, false); }
  if (way == "forks_with_handler") { return forks(true, false); }
  if (way == "forks_a_run") { return forks(false, true); }
  if (way == "by_hand") { return by_hand(); }
  std::fprintf(stderr, "no such way: %s\n", way.c_str());
  return 1;
}
