// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Ends in the way named by its argument, with steps recorded and regions open.
#include <takt/session.hpp>
#include <takt/takt.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr takt::Key kLate{"late"};

void steps(int n) {
  for (int step = 0; step < n; ++step) {
    const takt::Scope batch(takt::Batch);
    const takt::Scope forward(takt::Forward);
  }
}

/// Records in its destructor.
struct Farewell {
  ~Farewell() { const takt::Scope late(kLate); }
};

void record_at_thread_end() { thread_local const Farewell farewell; }

void through_five_scopes() {
  const takt::Scope one(takt::key("one"));
  const takt::Scope two(takt::key("two"));
  const takt::Scope three(takt::key("three"));
  const takt::Scope four(takt::key("four"));
  const takt::Scope five(takt::key("five"));
  throw std::runtime_error("out of data");
}

/// Returns true if ENDING is `way`: selects a Session made before main() and closed with static objects.
bool asked_for(const char* way) {
  const char* ending = std::getenv("ENDING");
  return ending != nullptr && std::strcmp(ending, way) == 0;
}
const std::unique_ptr<takt::Session> global_session =
    asked_for("global_session") ? std::make_unique<takt::Session>("ending") : nullptr;

takt::SessionOptions without_threads() {
  takt::SessionOptions options = takt::SessionOptions::from_env();
  options.background = false;
  return options;
}

int exit_in_region(int status) {
  takt::Session session("ending");
  steps(3);
  const takt::Scope batch(takt::Batch);
  const takt::Scope forward(takt::Forward);
  std::exit(status);
}

int exit_on_another_thread() {
  takt::Session session("ending");
  steps(3);
  std::thread([] {
    const takt::Scope work(takt::key("work"));
    std::exit(3);
  }).join();
  return 0;
}

int exit_while_others_record() {
  takt::Session session("ending");
  static std::atomic<int> going{0};
  for (int thread = 0; thread < 4; ++thread) {
    std::thread([] {
      ++going;
      for (;;) { steps(1); }
    }).detach();
  }
  while (going < 4) { std::this_thread::yield(); }
  return 3;
}

int exception() {
  try {
    takt::Session session("ending");
    steps(3);
    through_five_scopes();
  } catch (const std::runtime_error&) { return 3; }
  return 0;
}

/// The program's own terminate handler.
[[noreturn]] void my_handler() {
  std::fputs("mine\n", stderr);
  ::_exit(7);
}

std::terminate_handler handler_before = nullptr;
[[noreturn]] void my_chaining_handler() {
  std::fputs("mine\n", stderr);
  handler_before();
  std::abort();
}

struct Silent {};

[[noreturn]] void throw_one() { throw 1; }

struct Evil : std::exception {
  const char* what() const noexcept override { throw_one(); }
};

int uncaught_by(const std::string& way) {
  if (way == "uncaught_handler_before") { std::set_terminate(my_handler); }
  takt::Session session("ending");
  if (way == "uncaught_at_once") { throw std::runtime_error("at\nonce \x1b[31m" + std::string(5000, 'x')); }
  if (way == "uncaught_handler_after") { handler_before = std::set_terminate(my_chaining_handler); }
  steps(3);
  if (way == "uncaught_on_thread") {
    std::thread([] {
      takt::name_thread("loader");
      through_five_scopes();
    }).join();
  }
  const takt::Scope epoch(takt::Epoch);
  if (way == "terminate") { std::terminate(); }
  if (way == "uncaught_of_no_type") { throw 42; }
  if (way == "uncaught_own_type") { throw Silent(); }
  if (way == "uncaught_what") { throw Evil(); }
  if (way == "uncaught_by_many") {
    for (int thread = 0; thread < 30; ++thread) {
      std::thread([] { throw std::logic_error("one of many"); }).detach();
    }
    throw std::logic_error("one of many");
  }
  if (way == "uncaught_without_threads_left") {
    const rlimit none = {0, 0};
    if (::setrlimit(RLIMIT_NPROC, &none) != 0 || ::setuid(65'534) != 0) { return 77; }  // root has no limit
  }
  if (way == "uncaught_by_second_session") {
    session.close();
    std::set_terminate(my_handler);
    const takt::Session second("second");
    throw std::runtime_error("second");
  }
  if (way == "uncaught_after_close") { session.close(); }
  if (way == "uncaught_in_forked_child") {
    const int child = ::fork();
    if (child != 0) {
      int status = 0;
      ::waitpid(child, &status, 0);
      return WIFSIGNALED(status) ? 3 : 4;
    }
  }
  through_five_scopes();
  return 0;
}

int killed_at_once() {
  takt::Session session("ending");
  return ::kill(::getpid(), SIGKILL);
}

int static_session() {
  static takt::Session session("ending");
  static Farewell farewell;
  steps(3);
  return 3;
}

int static_after_close() {
  static Farewell farewell;
  takt::Session session("ending");
  steps(3);
  return 3;
}

int thread_locals() {
  static takt::Session session("ending");
  record_at_thread_end();
  std::thread([] {
    record_at_thread_end();
    steps(1);
  }).join();
  steps(2);
  return 3;
}

int thread_locals_first_use() {
  static takt::Session session("ending");
  // They record for the first time when they are destroyed: their threads had no recorder before.
  for (int thread = 0; thread < 3; ++thread) { std::thread(record_at_thread_end).join(); }
  return 3;
}

template <class End>
int cut_off(End end) {
  takt::Session session("ending", without_threads());
  steps(3);
  const takt::Scope batch(takt::Batch);
  session.poll();
  end();
  return 0;
}

template <class End>
int cut_off_with_threads(End end) {
  takt::Session session("ending");
  steps(3);
  const takt::Scope batch(takt::Batch);
  end();
  return 0;
}

int closed_twice() {
  takt::Session session("ending");
  steps(3);
  std::thread other([&session] { session.close(); });
  session.close();
  other.join();
  session.close();
  steps(1);
  return 3;
}

int end_by(const std::string& way) {
  if (way == "return" || way == "global_session") {
    std::unique_ptr<takt::Session> session = global_session ? nullptr : std::make_unique<takt::Session>("ending");
    steps(3);
    return 3;
  }
  if (way == "exit_in_region") { return exit_in_region(3); }
  if (way == "exit_well") { return exit_in_region(0); }
  if (way == "exit_on_another_thread") { return exit_on_another_thread(); }
  if (way == "exit_while_others_record") { return exit_while_others_record(); }
  if (way == "exception") { return exception(); }
  if (way == "uncaught") {
    takt::Session session("ending", without_threads());
    steps(3);
    session.poll();
    through_five_scopes();
  }
  if (way.rfind("uncaught", 0) == 0 || way == "terminate") { return uncaught_by(way); }
  if (way == "killed_at_once") { return killed_at_once(); }
  if (way == "static_session") { return static_session(); }
  if (way == "static_after_close") { return static_after_close(); }
  if (way == "thread_locals") { return thread_locals(); }
  if (way == "thread_locals_first_use") { return thread_locals_first_use(); }
  if (way == "_exit") {
    return cut_off([] { ::_exit(3); });
  }
  if (way == "quick_exit") {
    return cut_off([] { std::quick_exit(3); });
  }
  if (way == "abort") {
    return cut_off([] { std::abort(); });
  }
  if (way == "_exit_with_threads") {
    return cut_off_with_threads([] { ::_exit(3); });
  }
  if (way == "quick_exit_with_threads") {
    return cut_off_with_threads([] { std::quick_exit(3); });
  }
  if (way == "closed_twice") { return closed_twice(); }
  std::fprintf(stderr, "no such way: %s\n", way.c_str());
  return 1;
}

}  // namespace

int main(int, char** arguments) { return end_by(arguments[1]); }
