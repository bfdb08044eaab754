// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "session/uncaught.hpp"

#include "base/background.hpp"
#include "base/fault.hpp"
#include "base/text.hpp"
#include "process/process.hpp"
#include "session/session_impl.hpp"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <typeinfo>
#include <utility>

#include <cxxabi.h>
#include <time.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr std::size_t kLongestType = 256;
constexpr std::size_t kLongestMessage = 1000;
constexpr std::int64_t kLookNs = 1'000'000;
constexpr int kMostTimes = 3;  // of a thread; more is a circle of handlers

/// What the thread that dies leaves for the one that writes it down. It allocates nothing: there may be no memory, or
/// the lock of the allocator may be its own.
struct Death {
  char type[kLongestType + 1];  // as the compiler spells it; empty: there is no exception
  char message[kLongestMessage + 1];
  std::uint32_t thread;
  std::atomic<bool> written;
};
Death g_death;

std::atomic<SessionImpl*> g_mortal{nullptr};
std::atomic<std::int64_t> g_most_ms{0};
std::atomic<std::terminate_handler> g_before{nullptr};  // that was there when ours was last set
std::atomic<std::terminate_handler> g_first{nullptr};   // likewise, when it was set for the first time
enum class Stage { alive, noting, writing };
std::atomic<Stage> g_stage{Stage::alive};
__thread int times_here TAKT_INITIAL_EXEC = 0;  // that this thread has come here

void copy_text(char* to, const char* from, std::size_t most) noexcept {
  const std::size_t count = from == nullptr ? 0 : ::strnlen(from, most);
  std::memcpy(to, from, count);
  to[count] = '\0';
}

/// The exception that is being handled tells what it says of itself.
void note_message() noexcept {
  try {
    throw;
  } catch (const std::exception& error) {
    copy_text(g_death.message, error.what(), kLongestMessage);
  } catch (const std::string& text) {
    copy_text(g_death.message, text.c_str(), kLongestMessage);
  } catch (const char* text) { copy_text(g_death.message, text, kLongestMessage); } catch (...) {
    // Of its type, at least, something is known.
  }
}

void note_death() noexcept {
  if (const std::type_info* type = abi::__cxa_current_exception_type()) {
    copy_text(g_death.type, type->name(), kLongestType);
    note_message();
  }
  const Recorder* recorder = existing_recorder();
  g_death.thread = recorder == nullptr ? Uncaught::kNoThread : recorder->thread();
}

std::string demangled(const char* name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
  return printable(status == 0 && text != nullptr ? text.get() : name);
}

/// On one line, and without what commands a terminal.
std::string message_of_death() {
  std::string text = g_death.message;
  for (char& each : text) { each = each == '\n' || each == '\r' || each == '\t' ? ' ' : each; }
  while (!text.empty() && text.back() == ' ') { text.pop_back(); }
  return printable(text);
}

/// Looks again and again rather than wait with a lock: nobody knows which locks a thread holds that dies.
void wait_for_writing() noexcept {
  const Time deadline =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(g_most_ms.load(std::memory_order_relaxed));
  // Pairs with write_down_death().
  while (!g_death.written.load(std::memory_order_acquire) && std::chrono::steady_clock::now() < deadline) {
    const timespec look = {0, kLookNs};
    ::nanosleep(&look, nullptr);
  }
}

[[noreturn]] void go_on(std::terminate_handler before) noexcept {
  if (before != nullptr) { before(); }
  std::abort();
}

/// Has it written down, and waits for that. Without a thread to be had, by the one that the Session has.
void have_it_written(SessionImpl& session) noexcept {
  g_stage.store(Stage::writing, std::memory_order_relaxed);
  const auto write = [](void* dying) { write_down_death(*static_cast<SessionImpl*>(dying)); };
  if (start_background("takt-uncaught", write, &session) || session.die_in_background()) {
    wait_for_writing();
  } else {
    report_fault("uncaught", "no thread can be had to write down of what the process dies");
  }
}

[[noreturn]] void on_terminate() noexcept {
  SessionImpl* const session = g_mortal.load(std::memory_order_acquire);  // pairs with end_on_uncaught()
  const bool is_mortal = session != nullptr && session->ours() && g_most_ms.load(std::memory_order_relaxed) > 0;
  const int depth = ++times_here;
  Stage alive = Stage::alive;
  if (depth > kMostTimes) { std::abort(); }
  // Pairs with itself, on another thread that dies at the same time.
  if (depth == 1 && is_mortal && g_stage.compare_exchange_strong(alive, Stage::noting, std::memory_order_acq_rel)) {
    note_death();
    have_it_written(*session);
  } else if (depth == 2 && is_mortal && g_stage.load(std::memory_order_relaxed) == Stage::noting) {
    have_it_written(*session);  // what() has thrown
  } else if (depth == 1 && alive != Stage::alive) {
    wait_for_writing();  // another thread dies at the same time: it is not to be cut short
  } else if (depth > 1) {
    go_on(g_first.load(
        std::memory_order_relaxed));  // a handler that was set over this one calls it, and was called by it
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
    // Out of memory: that it died is worth more than of what.
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

void end_on_uncaught(SessionImpl& session, std::chrono::milliseconds most) noexcept {
  g_most_ms.store(most.count(), std::memory_order_relaxed);
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
