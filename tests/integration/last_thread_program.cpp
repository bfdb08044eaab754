// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Threads and processes that end at a bad moment, selected by the first argument.
#include <takt/backends/manual.hpp>
#include <takt/exporters/memory.hpp>
#include <takt/measure.hpp>
#include <takt/session.hpp>
#include <takt/takt.hpp>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <thread>

#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

namespace {
std::atomic<bool> no_threads{false};
std::atomic<bool> times_allocations{false};
constexpr takt::Key Allocation{"Allocation", takt::Kind::other};
}  // namespace

// Replaced as in programs that count allocations. Also used by the library under test.
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  if (!times_allocations) { return std::malloc(size); }
  const takt::Scope scope(Allocation);
  return std::malloc(size);
}
[[gnu::noinline]] void* operator new(std::size_t size) {
  void* const memory = operator new(size, std::nothrow);
  if (memory == nullptr) { throw std::bad_alloc(); }
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

// Replaces the C library's function, also for the library under test.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                              void* argument) {
  if (no_threads) { return EAGAIN; }
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  return create(thread, attributes, start, argument);
}

namespace {

void steps(int n) {
  for (int step = 0; step < n; ++step) {
    const takt::Scope batch(takt::Batch);
    const takt::Scope forward(takt::Forward);
  }
}

takt::SessionOptions often() {
  takt::SessionOptions options = takt::SessionOptions::from_env();
  options.period = std::chrono::milliseconds(20);
  return options;
}

/// Never returns.
class Stuck final : public takt::Exporter {
 public:
  const char* name() const noexcept override { return "stuck"; }
  takt::ExportResult export_snapshot(const takt::Snapshot&) override {
    std::mutex mutex;
    std::unique_lock<std::mutex> lock(mutex);
    std::condition_variable never;
    never.wait(lock, [] { return false; });
    return takt::ExportResult::ok;
  }
};

[[noreturn]] void leave_main() { ::pthread_exit(nullptr); }

/// The Session lives as long as the process; with `stuck`, so does an exporter.
[[noreturn]] void static_session(bool stuck) {
  takt::SessionOptions options = often();
  options.end_on_sigterm = true;
  static takt::Session session("last", options);
  if (stuck) { session.add(std::make_unique<Stuck>()); }
  steps(3);
  leave_main();
}

/// The Session was closed before, but parts of Takt might still run.
[[noreturn]] void closed_session(bool stuck) {
  takt::SessionOptions options = often();
  options.end_on_sigterm = true;
  static takt::Session session("last", options);
  if (stuck) { session.add(std::make_unique<Stuck>()); }
  steps(3);
  session.close();
  leave_main();
}

void* go_on(void*) {
  ::poll(nullptr, 0, 300);
  steps(4);
  return nullptr;
}

/// Another thread of the program continues for a while.
[[noreturn]] void other_thread() {
  static takt::Session session("last", often());
  steps(3);
  pthread_t thread{};
  ::pthread_create(&thread, nullptr, go_on, nullptr);
  ::pthread_detach(thread);
  leave_main();
}

int close_and_report(bool threads) {
  no_threads = !threads;
  takt::Session session("last", often());
  steps(3);
  const bool closed = session.close();
  return closed ? 4 : 3;  // stdout may be blocked
}

/// The thread is cancelled outside of this frame, because AddressSanitizer keeps the variables of frames that a
/// cancellation cuts off.
template <class Work>
[[gnu::noinline]] void call(Work& work) {
  work();
}

/// pthread_cancel() was called and takes effect at the next cancellation point.
template <class Work>
int cancelled(Work work) {
  static Work todo = work;
  pthread_t thread{};
  const auto run = [](void*) -> void* {
    ::pthread_cancel(::pthread_self());
    call(todo);
    ::pthread_testcancel();
    return nullptr;
  };
  if (::pthread_create(&thread, nullptr, run, nullptr) != 0) { return 1; }
  void* result = nullptr;
  ::pthread_join(thread, &result);
  std::printf("cancelled %d\n", result == PTHREAD_CANCELED ? 1 : 0);
  return 0;
}

int cancelled_message() {
  return cancelled([] { const takt::Scope scope(takt::key("a\nname")); });
}

int cancelled_close() {
  static takt::Session session("last", often());
  steps(3);
  return cancelled([] { std::printf("closed %d\n", session.close() ? 1 : 0); });
}

int cancelled_open() {
  return cancelled([] {
    static takt::Session session("last", often());
    steps(3);
    session.poll();
    takt::complete(std::chrono::milliseconds(1));
  });
}

int cancelled_calls() {
  static takt::Session session("last", often());
  steps(3);
  return cancelled([] {
    session.param("name\n", "value");
    session.tag("name\n", "value");
    session.metric("name\n", 1);
    session.group("group", 1);
    session.step(7);
    session.print();
    session.snapshot();
    takt::snapshot();
    session.add(takt::MemoryExporter());
    session.poll();
    takt::name_thread("one");
    takt::measure(session, "measured", [] {});
    takt::complete(std::chrono::milliseconds(1));
    std::printf("called\n");
  });
}

int cancelled_timer() {
  static takt::ManualClock clock;
  static takt::Timer<takt::ManualBackend> timer(clock);
  clock.hold(true);
  return cancelled([] {
    timer.start(takt::Forward);
    timer.end(takt::Forward);
    const bool complete = timer.complete(std::chrono::milliseconds(5));  // waits for a result that never arrives
    for (int step = 0; step < 3; ++step) {
      timer.start(takt::Batch);
      timer.start(takt::IO);  // never ended, which is reported
      timer.end(takt::Batch);
    }
    std::printf("complete %d\n", complete ? 1 : 0);
  });
}

/// Threads end while others start, and allocate until their last moment.
int timed_allocations() {
  takt::Session session("last", often());
  times_allocations = true;
  for (int round = 0; round < 200; ++round) {
    std::array<std::thread, 4> threads;
    for (std::thread& each : threads) {
      each = std::thread([] { steps(5); });
    }
    for (std::thread& each : threads) { each.join(); }
  }
  times_allocations = false;
  return session.close() ? 0 : 1;
}

int end_by(const std::string& way) {
  if (way == "static_session") { static_session(false); }
  if (way == "static_session_stuck") { static_session(true); }
  if (way == "closed_session") { closed_session(false); }
  if (way == "closed_session_stuck") { closed_session(true); }
  if (way == "other_thread") { other_thread(); }
  if (way == "with_threads") { return close_and_report(true); }
  if (way == "without_threads") { return close_and_report(false); }
  if (way == "cancelled_message") { return cancelled_message(); }
  if (way == "cancelled_close") { return cancelled_close(); }
  if (way == "cancelled_open") { return cancelled_open(); }
  if (way == "cancelled_calls") { return cancelled_calls(); }
  if (way == "cancelled_timer") { return cancelled_timer(); }
  if (way == "timed_allocations") { return timed_allocations(); }
  std::fprintf(stderr, "no such way: %s\n", way.c_str());
  return 1;
}

}  // namespace

int main(int, char** arguments) { return end_by(arguments[1]); }
