// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "session/crash.hpp"

#include "base/file.hpp"
#include "base/report_error.hpp"
#include "base/text.hpp"
#include "base/threads.hpp"
#include "process/process.hpp"
#include "session/session_impl.hpp"

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <typeinfo>
#include <utility>

#include <cxxabi.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

using Action = struct sigaction;

/// State that the signal handler reads. Immutable and never freed: the handler may run on any thread at any time.
struct Plan {
  Action before = {};                // previous action of SIGTERM
  const Descriptor* bell = nullptr;  // eventfd that the watch thread reads
  pid_t pid = 0;  // process of that thread; a forked child inherits handler and bell and must not end its parent's run
  const Plan* older = nullptr;  // for leak checkers
};
std::atomic<const Plan*> g_plan{nullptr};

/// Takt's handler is installed. If it is not the current one, another handler was set over it and may call it.
std::atomic<bool> g_set{false};

/// Per-process state. A forked child gets its own: the mutex may be held by a thread that does not exist there.
struct Watch {
  const std::uint32_t generation = detail::generation();
  const Descriptor bell{::eventfd(0, EFD_CLOEXEC)};  // low part: signals; multiples of kLeave: ended Sessions
  std::mutex mutex;
  SessionImpl* session = nullptr;  // the Session that SIGTERM ends
  bool watching = false;
  const Watch* older = nullptr;  // for leak checkers
};
std::atomic<Watch*> g_watch{nullptr};
constexpr std::uint64_t kLeave = std::uint64_t{1} << 32U;

bool is_handler(const Action& action) noexcept {
  return action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;  // a union with sa_sigaction
}

/// Applies the default action of SIGTERM. Inside a handler it takes effect on return.
void die_of_sigterm() noexcept {
  Action usual = {};
  usual.sa_handler = SIG_DFL;
  ::sigaction(SIGTERM, &usual, nullptr);
  ::raise(SIGTERM);
}

/// Calls only async-signal-safe functions: it may interrupt any code.
void on_sigterm(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  const Plan& plan = *g_plan.load(std::memory_order_acquire);  // pairs with publish()
  const std::uint64_t once = 1;
  const bool rung = ::getpid() == plan.pid && plan.bell != nullptr && plan.bell->is_ours() &&
                    ::write(plan.bell->number(), &once, sizeof once) == sizeof once;
  if (!is_handler(plan.before)) {
    if (!rung) { die_of_sigterm(); }
  } else if ((plan.before.sa_flags & SA_SIGINFO) != 0) {
    plan.before.sa_sigaction(signal, info, context);
  } else {
    plan.before.sa_handler(signal);
  }
  errno = error;
}

bool is_ours(const Action& action) noexcept {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == on_sigterm;
}

Action current_action() noexcept {
  Action action = {};
  ::sigaction(SIGTERM, nullptr, &action);
  return action;
}

bool is_same(const Action& a, const Action& b) noexcept {
  return a.sa_sigaction == b.sa_sigaction && a.sa_flags == b.sa_flags &&
         std::memcmp(&a.sa_mask, &b.sa_mask, sizeof a.sa_mask) == 0;
}

/// Reuses an identical Plan, so that memory stays bounded in a program with many Sessions.
/// \param bell nullptr: no thread waits for it any more.
bool publish(const Action& before, const Descriptor* bell) noexcept {
  const Plan* const last = g_plan.load(std::memory_order_relaxed);
  if (last != nullptr && last->pid == ::getpid() && last->bell == bell && is_same(last->before, before)) {
    return true;
  }
  const Plan* const next = new (std::nothrow) Plan{before, bell, ::getpid(), last};
  if (next == nullptr) { return false; }
  g_plan.store(next, std::memory_order_release);  // pairs with all loads
  return true;
}

void set_handler(const Action& before) {
  Action ours = before;  // keeps the mask and flags with which the program's own handler is called
  if (!is_handler(before)) {
    sigemptyset(&ours.sa_mask);
    ours.sa_flags = SA_RESTART | SA_ONSTACK;
  }
  ours.sa_flags |= SA_SIGINFO;
  ours.sa_sigaction = on_sigterm;
  g_set.store(::sigaction(SIGTERM, &ours, nullptr) == 0, std::memory_order_relaxed);
}

SessionImpl* session_of(Watch& here) {
  const std::lock_guard<std::mutex> lock(here.mutex);
  return here.session;  // never destroyed
}

/// Collects the recorded data. The program's own handler also runs and decides about the process.
void write_down(Watch& here) noexcept {
  if (SessionImpl* session = session_of(here)) { session->poll(); }
}

/// Ends the process, even if no Session is left: the signal was sent, and the handler has consumed it.
void end_process(Watch& here) noexcept {
  if (SessionImpl* session = session_of(here)) { session->end_killed(); }
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  ::pthread_sigmask(SIG_UNBLOCK, &term, nullptr);
  die_of_sigterm();
}

/// Returns true if the thread may end. A leftover thread would keep a process alive whose last thread has ended.
bool may_leave(Watch& here) noexcept {
  const std::lock_guard<std::mutex> lock(here.mutex);
  if (here.session != nullptr) { return false; }  // a new Session has started
  here.watching = false;
  return true;
}

void watch(void* watch_of_process) {
  Watch& here = *static_cast<Watch*>(watch_of_process);
  std::uint64_t rung = 0;
  for (;;) {
    if (!here.bell.is_ours()) { return; }  // closed by the program; the handler detects this as well
    const ssize_t got = ::read(here.bell.number(), &rung, sizeof rung);
    if (got < 0 && errno == EINTR) { continue; }
    if (got != static_cast<ssize_t>(sizeof rung)) { return; }  // likewise
    if (rung >= kLeave && may_leave(here)) { return; }
    if (rung % kLeave == 0) { continue; }
    if (is_handler(g_plan.load(std::memory_order_acquire)->before)) {  // pairs with publish()
      write_down(here);
    } else {
      end_process(here);
    }
  }
}

Watch* this_watch() noexcept {
  Watch* const last = g_watch.load(std::memory_order_acquire);  // pairs with the release below
  if (last != nullptr && last->generation == generation()) { return last; }
  auto* const fresh = new (std::nothrow) Watch;  // never destroyed: its thread stays
  if (fresh == nullptr) { return nullptr; }
  fresh->older = last;
  g_watch.store(fresh, std::memory_order_release);  // pairs with the acquire above
  return fresh;
}

/// \param before action of SIGTERM without Takt.
bool prepare_watch(SessionImpl& session, const Action& before) noexcept {
  Watch* const here = this_watch();
  if (here == nullptr || !here->bell.is_open()) { return false; }
  const std::lock_guard<std::mutex> lock(here->mutex);
  here->watching = here->watching || start_background("takt-sigterm", &watch, here);
  if (!here->watching || !publish(before, &here->bell)) { return false; }
  here->session = &session;
  return true;
}

}  // namespace

void end_on_sigterm(SessionImpl& session) noexcept {
  const Action now = current_action();
  if (now.sa_handler == SIG_IGN) { return; }
  const bool covered = g_set.load(std::memory_order_relaxed) && !is_ours(now) && is_handler(now);
  const bool is_set = is_ours(now) || covered;  // by a Session older than another handler, or before a fork
  if (!prepare_watch(session, is_set ? g_plan.load(std::memory_order_relaxed)->before : now)) {
    report_error("sigterm", "cannot set up SIGTERM handling (out of resources): SIGTERM will not close the run");
    return;
  }
  if (!is_set) { set_handler(now); }
  if (covered) {
    report_error_once("sigterm",
                      "another SIGTERM handler was installed over that of an earlier Session: it decides whether "
                      "SIGTERM ends this run");
  }
}

void leave_sigterm(const SessionImpl& session) noexcept {
  Watch* const here = g_watch.load(std::memory_order_acquire);  // pairs with this_watch()
  if (here == nullptr || here->generation != generation()) { return; }
  const std::lock_guard<std::mutex> lock(here->mutex);
  if (here->session != &session) { return; }
  here->session = nullptr;
  const Action before = g_plan.load(std::memory_order_relaxed)->before;
  if (is_ours(current_action())) {
    ::sigaction(SIGTERM, &before, nullptr);
    g_set.store(false, std::memory_order_relaxed);
  }
  // A later call of the handler, by a handler that was set over it, finds no bell and applies the previous action.
  if (publish(before, nullptr) && here->bell.is_ours()) {
    [[maybe_unused]] const auto rung = ::write(here->bell.number(), &kLeave, sizeof kLeave);
  }
}

namespace {

constexpr std::size_t kLongestType = 256;
constexpr std::size_t kLongestMessage = 1000;
constexpr std::int64_t kPollNs = 1'000'000;
constexpr int kMaxTimes = 3;  // calls per thread; more indicates a cycle of handlers

/// Data that the dying thread leaves for the thread that records it. Allocates nothing: memory may be exhausted, or
/// the dying thread may hold the allocator's lock.
struct Death {
  char type[kLongestType + 1];  // mangled name; empty: no exception
  char message[kLongestMessage + 1];
  std::optional<std::uint32_t> thread;
  std::atomic<bool> written;
};
Death g_death{};

std::atomic<SessionImpl*> g_mortal{nullptr};
std::atomic<std::int64_t> g_max_ms{0};
std::atomic<std::terminate_handler> g_before{nullptr};  // handler before the latest installation of ours
std::atomic<std::terminate_handler> g_first{nullptr};   // handler before the first installation
enum class Stage { alive, noting, writing };
std::atomic<Stage> g_stage{Stage::alive};
__thread int times_here TAKT_INITIAL_EXEC = 0;  // calls of on_terminate() by this thread

void copy_text(char* to, const char* from, std::size_t max) noexcept {
  const std::size_t count = from == nullptr ? 0 : ::strnlen(from, max);
  std::memcpy(to, from, count);
  to[count] = '\0';
}

/// Stores the message of the current exception.
void note_message() noexcept {
  try {
    throw;
  } catch (const std::exception& error) {
    copy_text(g_death.message, error.what(), kLongestMessage);
  } catch (const std::string& text) {
    copy_text(g_death.message, text.c_str(), kLongestMessage);
  } catch (const char* text) { copy_text(g_death.message, text, kLongestMessage); } catch (...) {
    // The type, at least, is known.
  }
}

void note_death() noexcept {
  const Recorder* recorder = existing_recorder();
  if (recorder != nullptr) { g_death.thread = recorder->thread(); }
  if (const std::type_info* type = abi::__cxa_current_exception_type()) {
    copy_text(g_death.type, type->name(), kLongestType);
    note_message();  // last: a what() that throws does not return here
  }
}

std::string demangled(const char* name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
  return printable(status == 0 && text != nullptr ? text.get() : name);
}

/// Returns the message on one line, without terminal control characters.
std::string message_of_death() {
  std::string text = g_death.message;
  for (char& each : text) { each = each == '\n' || each == '\r' || each == '\t' ? ' ' : each; }
  while (!text.empty() && text.back() == ' ') { text.pop_back(); }
  return printable(text);
}

/// Polls instead of locking: the dying thread may hold any lock.
void wait_for_writing() noexcept {
  const Time deadline =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(g_max_ms.load(std::memory_order_relaxed));
  // Pairs with write_down_death().
  while (!g_death.written.load(std::memory_order_acquire) && std::chrono::steady_clock::now() < deadline) {
    const timespec look = {0, kPollNs};
    ::nanosleep(&look, nullptr);
  }
}

[[noreturn]] void go_on(std::terminate_handler before) noexcept {
  if (before != nullptr) { before(); }
  std::abort();
}

/// Starts the recording and waits for it. Uses the Session's background thread if no new thread can be started.
void have_it_written(SessionImpl& session) noexcept {
  g_stage.store(Stage::writing, std::memory_order_relaxed);
  const auto write = [](void* dying) { write_down_death(*static_cast<SessionImpl*>(dying)); };
  if (start_background("takt-uncaught", write, &session) || session.die_in_background()) {
    wait_for_writing();
  } else {
    report_error("uncaught", "cannot start a thread to record why the process is dying");
  }
}

[[noreturn]] void on_terminate() noexcept {
  SessionImpl* const session = g_mortal.load(std::memory_order_acquire);  // pairs with end_on_uncaught()
  const bool is_mortal = session != nullptr && session->ours() && g_max_ms.load(std::memory_order_relaxed) > 0;
  const int depth = ++times_here;
  Stage alive = Stage::alive;
  if (depth > kMaxTimes) { std::abort(); }
  // Pairs with itself on another thread that dies at the same time.
  if (depth == 1 && is_mortal && g_stage.compare_exchange_strong(alive, Stage::noting, std::memory_order_acq_rel)) {
    note_death();
    have_it_written(*session);
  } else if (depth == 2 && is_mortal && g_stage.load(std::memory_order_relaxed) == Stage::noting) {
    have_it_written(*session);  // what() has thrown
  } else if (depth == 1 && alive != Stage::alive) {
    wait_for_writing();  // another thread is dying: let it finish recording
  } else if (depth > 1) {
    go_on(g_first.load(
        std::memory_order_relaxed));  // a handler that was set over ours called it, and ours called that handler
  }
  go_on(g_before.load(std::memory_order_relaxed));
}

}  // namespace

void write_down_death(SessionImpl& session) noexcept {
  Uncaught death;
  try {
    death.thread = g_death.thread;
    if (g_death.type[0] != '\0') {
      death.type = demangled(g_death.type).substr(0, kLongestMessage);
      death.message = message_of_death();
    }
  } catch (...) {
    // Out of memory: recording the death matters more than its reason.
  }
  death.happened = true;
  session.end_uncaught(std::move(death));
  g_death.written.store(true, std::memory_order_release);  // pairs with wait_for_writing()
}

void name_open_regions(Snapshot& snapshot) {
  if (!snapshot.uncaught.happened) { return; }
  for (const OpenRegion& each : snapshot.open) {
    if (each.thread == snapshot.uncaught.thread) { snapshot.uncaught.open.push_back(each.path); }
  }
}

void end_on_uncaught(SessionImpl& session, std::chrono::milliseconds max) noexcept {
  g_max_ms.store(max.count(), std::memory_order_relaxed);
  g_mortal.store(&session, std::memory_order_release);  // pairs with on_terminate()
  const std::terminate_handler now = std::get_terminate();
  if (now == on_terminate) { return; }
  g_before.store(now, std::memory_order_relaxed);
  std::terminate_handler none = nullptr;
  g_first.compare_exchange_strong(none, now, std::memory_order_relaxed);
  std::set_terminate(on_terminate);
}

void leave_uncaught(const SessionImpl& session) noexcept {
  SessionImpl* mine = g_mortal.load(std::memory_order_relaxed);
  if (mine != &session || !g_mortal.compare_exchange_strong(mine, nullptr, std::memory_order_relaxed)) { return; }
  if (std::get_terminate() == on_terminate) { std::set_terminate(g_before.load(std::memory_order_relaxed)); }
}

bool SessionImpl::die_in_background() noexcept {
  if (!background_) { return false; }
  dying_.store(true, std::memory_order_relaxed);
  registry().shared().alarm.ring();  // takes no lock
  return true;
}

void SessionImpl::end_uncaught(Uncaught death) noexcept {
  {
    const std::lock_guard<std::mutex> lock(data_);
    uncaught_ = std::move(death);
  }
  fail();
  end(false);
}

}  // namespace detail
TAKT_END_NAMESPACE
