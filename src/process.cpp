// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "process.hpp"

#include "fault.hpp"

#include <takt/takt.hpp>

#include <pthread.h>
#include <algorithm>
#include <array>
#include <mutex>

TAKT_BEGIN_NAMESPACE
namespace detail {

__thread Event* cursor TAKT_INITIAL_EXEC = nullptr;
alignas(Arena) FirstArena first_arena{{}, {kModeNotStarted}, {}};
std::atomic<bool> tracing{false};

namespace {

// A cursor without room that belongs to no arena: of a thread that has already given its recorder back.
Event* const kPastEnd = reinterpret_cast<Event*>(kBlockBytes);

std::atomic<Registry*> current_registry{nullptr};
Registry* parents_registry = nullptr;  // in a forked child
std::atomic<std::uint32_t> current_generation{0};
std::atomic<bool> off_by_environment{false};
pthread_key_t exit_key;

/// Runs when a thread ends, after the destructors of its thread_local objects.
void at_thread_exit(void*) noexcept {
  Recorder* recorder = existing_recorder();
  if (recorder == nullptr || recorder->generation() != generation()) { return; }
  registry().thread_ends(*recorder);
  store_cursor(kPastEnd);
}

/// The child has the parent's recorders, but they are the parent's: they are let go, untouched. Locks may be held by threads
/// that do not exist here, so what has one gets a new one.
void after_fork_in_child() noexcept {
  mode().fetch_or(kModeForked, std::memory_order_relaxed);
  current_generation.fetch_add(1, std::memory_order_relaxed);
  if (Registry* parents = current_registry.exchange(nullptr, std::memory_order_relaxed)) { parents_registry = parents; }
  store_cursor(nullptr);
  tracing.store(false, std::memory_order_relaxed);
  gpu_polling.store(false, std::memory_order_relaxed);
  key_table().after_fork();
  metric_names().after_fork();
  fault_after_fork();
}

std::once_flag& started() noexcept {
  static std::once_flag flag;
  return flag;
}

}  // namespace

Clock& process_clock() noexcept {
  static Clock* clock = new Clock(read_process_environment().clock);  // never destroyed
  return *clock;
}

void start_process() noexcept {
  std::call_once(started(), [] {
    pthread_key_create(&exit_key, at_thread_exit);
    pthread_atfork(nullptr, nullptr, after_fork_in_child);
    const bool disabled = read_process_environment().disabled;
    process_clock();
    off_by_environment.store(disabled, std::memory_order_relaxed);
    if (disabled) { mode().fetch_or(kModeDisabled, std::memory_order_relaxed); }
    mode().fetch_and(~static_cast<std::uint32_t>(kModeNotStarted), std::memory_order_release);
  });
}

Registry& registry() noexcept {
  Registry* here = current_registry.load(std::memory_order_acquire);
  if (here != nullptr) { return *here; }
  start_process();
  auto* fresh = new Registry(process_clock(), key_table(), generation());
  fresh->parents = parents_registry;
  if (current_registry.compare_exchange_strong(here, fresh, std::memory_order_acq_rel)) { return *fresh; }
  delete fresh;
  return *here;
}

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
  return at == nullptr || at == kPastEnd ? nullptr : Recorder::of(reinterpret_cast<std::uintptr_t>(at));
}

Recorder* this_recorder() noexcept {
  if (Recorder* recorder = existing_recorder()) { return recorder; }
  if ((mode().load(std::memory_order_relaxed) & kModeForked) != 0) { return nullptr; }
  if (load_cursor() == kPastEnd) {
    registry().count_unrecorded();
    return nullptr;
  }
  Recorder* recorder = registry().attach();
  if (recorder != nullptr) { pthread_setspecific(exit_key, recorder); }
  return recorder;
}

double region_cost_ns() noexcept {
  static const double cost = [] {
    constexpr int kRegions = 100;
    static MemoryBudget budget(1U << 20U);
    static Recorder* const scratch = Recorder::create(process_clock(), budget, generation());  // never destroyed
    if (scratch == nullptr) { return 0.0; }
    std::array<std::uint64_t, 21> took{};  // in some of these the thread may have had to wait for a core
    for (std::uint64_t& each : took) {
      const std::uint64_t begin = process_clock().now_ns();
      for (int region = 0; region < kRegions; ++region) { scratch->plain_pair(kOtherKey); }
      each = process_clock().now_ns() - begin;
    }
    std::nth_element(took.begin(), took.begin() + took.size() / 2, took.end());
    return static_cast<double>(took[took.size() / 2]) / kRegions;
  }();
  return cost;
}

std::int64_t overhead_ns(const Snapshot& snapshot) noexcept {
  std::uint64_t regions = 0;
  for (const PathStats& path : snapshot.paths) { regions += path.host.n() + path.skipped; }
  return static_cast<std::int64_t>(static_cast<double>(regions) * region_cost_ns());
}

}  // namespace detail

void set_enabled(bool on) noexcept {
  detail::start_process();
  if (on) {
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
    detail::registry().name_thread(recorder->thread(), name);
  }
}

bool complete(std::chrono::milliseconds timeout) noexcept {
  constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 365);
  const auto limit = std::clamp(timeout, std::chrono::milliseconds(0), kLongest);
  const std::uint64_t deadline =
      detail::process_clock().now_ns() + static_cast<std::uint64_t>(limit.count()) * 1'000'000U;
  return detail::registry().complete(detail::existing_recorder(), deadline);
}

TAKT_END_NAMESPACE
