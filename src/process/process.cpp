// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "process/process.hpp"

#include "base/environment.hpp"
#include "base/region_memory.hpp"
#include "base/report_error.hpp"
#include "base/text.hpp"
#include "base/threads.hpp"
#include "record/pinned.hpp"

#include <takt/detail/not_cancelled.hpp>
#include <takt/takt.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <limits>
#include <new>
#include <string>
#include <utility>

#include <pthread.h>

TAKT_BEGIN_NAMESPACE
namespace detail {

__thread Event* cursor TAKT_INITIAL_EXEC = nullptr;
alignas(Arena) FirstArena first_arena{{}, {kModeNotStarted}, {}};
std::atomic<bool> tracing{false};
std::atomic<std::uint64_t> switched_on{0};

namespace {

// A cursor without space, in no arena, like kPastEnd: for a thread that is being attached.
Event* const kAttaching = reinterpret_cast<Event*>(2 * kBlockBytes);

std::atomic<Registry*> current_registry{nullptr};
Registry* parents_registry = nullptr;  // in a forked child
std::atomic<std::uint32_t> current_generation{0};
std::atomic<bool> off_by_environment{false};
std::atomic<bool> has_exit_key{false};
pthread_key_t exit_key;
std::atomic<bool> follows_forks{false};
std::atomic<std::uint64_t> cpu_at_start_ns{0};

/// Runs when a thread ends, after the destructors of its thread_local objects.
void at_thread_exit(void*) noexcept {
  Recorder* recorder = existing_recorder();
  if (recorder == nullptr || recorder->generation() != generation()) { return; }
  const NotCancelled whole;
  registry().thread_ends(*recorder);
}

/// Drops the parent's recorders, untouched. If another thread of the parent was starting the process, there are none,
/// and the child starts by itself.
void after_fork_in_child() noexcept {
  RegistrationLock::after_fork();
  if ((mode().load(std::memory_order_relaxed) & kModeNotStarted) == 0) {
    mode().fetch_or(kModeForked, std::memory_order_relaxed);
  }
  current_generation.fetch_add(1, std::memory_order_relaxed);
  if (Registry* parents = current_registry.exchange(nullptr, std::memory_order_relaxed)) { parents_registry = parents; }
  store_cursor(nullptr);
  tracing.store(false, std::memory_order_relaxed);
  error_after_fork();
  background_after_fork();
  memory_after_fork();
  cpu_at_start_ns.store(0, std::memory_order_relaxed);  // the child's CPU time starts at 0
}

/// Installed when the library is loaded, so that a lock held at a fork is released in the child. Retried while memory
/// is short: a child without the handler would continue its parent's run. Installing it twice is harmless.
[[gnu::constructor]] void follow_forks() noexcept {
  if (!follows_forks.load(std::memory_order_relaxed) && pthread_atfork(nullptr, nullptr, after_fork_in_child) == 0) {
    follows_forks.store(true, std::memory_order_relaxed);
  }
}

/// Returns false without the pthread key: the end of a thread would not be detected.
bool find_exit_key() noexcept {
  if (!has_exit_key.load(std::memory_order_acquire)) {  // pairs with start_process()
    report_error("exit_key",
                 "the process has no pthread key left, which is needed to detect the end of threads; nothing is timed");
    return false;
  }
  follow_forks();
  return true;
}

Clock make_clock() noexcept { return Clock(read_process_environment().clock); }

void start() noexcept {
  const NotCancelled whole;
  pin_library();
  // Release: pairs with find_exit_key().
  has_exit_key.store(pthread_key_create(&exit_key, at_thread_exit) == 0, std::memory_order_release);
  find_exit_key();
  const bool disabled = read_process_environment().disabled;
  cpu_at_start_ns.store(posix_ns(CLOCK_PROCESS_CPUTIME_ID), std::memory_order_relaxed);
  process_clock();
  off_by_environment.store(disabled, std::memory_order_relaxed);
  if (disabled) { mode().fetch_or(kModeDisabled, std::memory_order_relaxed); }
  // Release: pairs with admitted() and end_innermost().
  mode().fetch_and(~static_cast<std::uint32_t>(kModeNotStarted), std::memory_order_release);
}

}  // namespace

Clock& process_clock() noexcept { return made_once<make_clock>(); }

void start_process() noexcept {
  static pthread_once_t started = PTHREAD_ONCE_INIT;  // a child forked during the call starts again
  pthread_once(&started, start);
}

Registry& registry() {
  Registry* here = current_registry.load(std::memory_order_acquire);  // pairs with the exchange below
  if (here != nullptr) { return *here; }
  start_process();
  auto* fresh = new Registry(process_clock(), key_table(), generation());
  fresh->parents = parents_registry;
  // Release: pairs with the load above; acquire: with the exchange of the thread that was first.
  if (current_registry.compare_exchange_strong(here, fresh, std::memory_order_acq_rel)) { return *fresh; }
  delete fresh;
  return *here;
}

Registry* find_registry() noexcept {
  try {
    return &registry();
  } catch (const std::bad_alloc&) { return nullptr; }
}

std::uint64_t cpu_ns_at_start() noexcept { return cpu_at_start_ns.load(std::memory_order_relaxed); }

std::uint32_t generation() noexcept { return current_generation.load(std::memory_order_relaxed); }

void adopt_process() noexcept {
  start_process();
  mode().fetch_and(~static_cast<std::uint32_t>(kModeForked), std::memory_order_relaxed);
}

bool switched_off() noexcept {
  start_process();
  return off_by_environment.load(std::memory_order_relaxed);
}

Recorder* existing_recorder() noexcept {
  Event* at = load_cursor();
  return at == nullptr || at == kPastEnd || at == kAttaching ? nullptr
                                                             : Recorder::of(reinterpret_cast<std::uintptr_t>(at));
}

Recorder* this_recorder() noexcept {
  if (Recorder* recorder = existing_recorder()) { return recorder; }
  if ((mode().load(std::memory_order_relaxed) & kModeForked) != 0) { return nullptr; }
  return attach_thread();
}

TAKT_COLD Recorder* attach_thread() noexcept {
  const NotCancelled whole;
  Event* const before = load_cursor();
  if (before == kAttaching || Threads::are_locked_here()) { return nullptr; }
  store_cursor(kAttaching);
  Registry* const registry = find_registry();
  Recorder* recorder = nullptr;
  // Sets the thread-exit value first: it may need memory, and a thread without it must have no recorder.
  if (registry == nullptr) {
    report_error("memory", "out of memory: nothing is recorded");
  } else if (before == kPastEnd || !find_exit_key() || pthread_setspecific(exit_key, registry) != 0) {
    registry->count_unrecorded();
  } else {
    recorder = registry->attach();  // sets the cursor
  }
  if (recorder == nullptr) { store_cursor(before); }
  return recorder;
}

}  // namespace detail

void set_enabled(bool on) noexcept {
  detail::start_process();
  if (on) {
    // Counted first: a thread that sees recording enabled counts its steps from there.
    if (!enabled()) { detail::switched_on.fetch_add(1, std::memory_order_relaxed); }
    detail::mode().fetch_and(~static_cast<std::uint32_t>(detail::kModeDisabled), std::memory_order_relaxed);
  } else {
    detail::mode().fetch_or(detail::kModeDisabled, std::memory_order_relaxed);
  }
}

bool enabled() noexcept {
  detail::start_process();
  return (detail::mode().load(std::memory_order_relaxed) & (detail::kModeDisabled | detail::kModeForked)) == 0;
}

void name_thread(const char* name) noexcept {
  if (detail::Recorder* recorder = detail::this_recorder()) {
    const std::string_view given = name == nullptr ? "" : name;
    detail::report_repaired("thread_name", "thread", given);
    detail::registry().name_thread(recorder->thread(), given);
  }
}

bool complete(std::chrono::milliseconds timeout) noexcept {
  constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 365);
  const detail::NotCancelled whole;
  const auto limit = std::clamp(timeout, std::chrono::milliseconds(0), kLongest);
  detail::Registry* const registry = detail::find_registry();
  if (registry == nullptr) { return true; }  // nothing was recorded
  const std::uint64_t deadline =
      detail::process_clock().now_ns() + static_cast<std::uint64_t>(limit.count()) * 1'000'000U;
  return registry->complete(detail::existing_recorder(), deadline);
}

namespace detail {
namespace {

constexpr std::pair<std::string_view, ClockChoice> kClocks[] = {
    {"automatic", ClockChoice::automatic},
    {"counter", ClockChoice::counter},
    {"tsc", ClockChoice::counter},  // name on x86, and the only one in earlier versions
    {"monotonic", ClockChoice::monotonic}};

bool set_clock(std::string_view value, ProcessEnvironment& process) {
  for (const auto& [name, clock] : kClocks) {
    if (value == name) {
      process.clock = clock;
      return true;
    }
  }
  return false;
}

std::string get_clock(const ProcessEnvironment& process) {
  const auto* const found = std::find_if(std::begin(kClocks), std::end(kClocks),
                                         [&](const auto& clock) { return clock.second == process.clock; });
  return std::string(found->first);
}

bool set_profiler_rank(std::string_view value, ProcessEnvironment& process) {
  std::int64_t rank = kAllRanks;
  if (value != "all" && !parse_number(value, 0, std::numeric_limits<int>::max() - 1, rank)) { return false; }
  process.profiler_rank = static_cast<int>(rank);
  return true;
}

std::string get_profiler_rank(const ProcessEnvironment& process) {
  return process.profiler_rank == kAllRanks ? "all" : std::to_string(process.profiler_rank);
}

constexpr EnvironmentVariable<ProcessEnvironment> kProcessVariables[] = {
    {"TAKT_CLOCK", "counter, monotonic or automatic", 1, 0, set_clock, get_clock},
    flag_variable<ProcessEnvironment, &ProcessEnvironment::disabled>("TAKT_DISABLE"),
    {"TAKT_PROFILER_RANK", "a rank or all", 1, 0, set_profiler_rank, get_profiler_rank},
};

}  // namespace

ProcessEnvironment read_process_environment() {
  ProcessEnvironment process;
  read_variables(kProcessVariables, process);
  return process;
}

int profiler_rank() noexcept { return read_process_environment().profiler_rank; }

std::vector<std::string_view> process_variable_names() {
  std::vector<std::string_view> names;
  for (const auto& variable : kProcessVariables) { names.emplace_back(variable.name); }
  return names;
}

namespace {

std::atomic<const LibraryVersion*> newest_library{nullptr};

}  // namespace

void add_library_version(LibraryVersion& version) noexcept {
  version.next = newest_library.load(std::memory_order_relaxed);
  // Pairs with library_versions().
  while (!newest_library.compare_exchange_weak(version.next, &version, std::memory_order_release)) {}
}

const LibraryVersion* library_versions() noexcept {
  return newest_library.load(std::memory_order_acquire);  // pairs with add_library_version()
}

}  // namespace detail
TAKT_END_NAMESPACE
