// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "refusals.hpp"

#include "support/sanitized.hpp"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <new>

#include <dlfcn.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <unwind.h>

namespace refusals {
namespace {

constexpr std::uint32_t kSites = 8192;
constexpr unsigned kFrames = 12;
constexpr std::int64_t kWhileNs = 300'000'000;

struct Site {
  std::atomic<std::uint64_t> hash{0};
  std::uintptr_t frames[kFrames] = {};
};
struct Last {
  std::atomic<pid_t> child{0};
  std::atomic<std::uint32_t> site{0};
};
/// Shared by all processes.
struct Board {
  std::atomic<std::uint32_t> count{0};
  std::atomic<std::uint32_t> allocations{0};
  Last last[64];
  Site site[kSites];
};
Board* g_board = nullptr;

// This process's plan.
Plan g_plan;
std::atomic<bool> g_started{false};
std::atomic<std::uint32_t> g_allocations{0};
std::atomic<std::uint32_t> g_refused{0};
std::atomic<std::int64_t> g_begin_ns{0};       // for kEverything or a single site
std::atomic<std::int64_t> g_first_ns[kSites];  // of each site, for kAll
__thread int g_exempt = 0;

using AllocateException = void* (*)(std::size_t);
AllocateException g_allocate_exception = nullptr;  // libstdc++'s

std::int64_t now_ns() {
  timespec time = {};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

struct Walk {
  unsigned skip = 2;
  unsigned count = 0;
  unsigned max = kFrames;
  std::uintptr_t frames[64] = {};
};
_Unwind_Reason_Code step(_Unwind_Context* context, void* argument) {
  Walk& walk = *static_cast<Walk*>(argument);
  if (walk.skip > 0) {
    --walk.skip;
    return _URC_NO_REASON;
  }
  walk.frames[walk.count++] = _Unwind_GetIP(context);
  return walk.count == walk.max ? _URC_END_OF_STACK : _URC_NO_REASON;
}

std::uint32_t this_site() {
  Walk walk;
  _Unwind_Backtrace(step, &walk);
  std::uint64_t hash = 14695981039346656037U;
  for (unsigned at = 0; at < walk.count; ++at) { hash = (hash ^ walk.frames[at]) * 1099511628211U; }
  hash |= 1U;
  for (std::uint32_t index = 0; index < kSites; ++index) {
    std::uint64_t there = g_board->site[index].hash.load();
    if (there == 0 && g_board->site[index].hash.compare_exchange_strong(there, hash)) {
      for (unsigned at = 0; at < walk.count; ++at) { g_board->site[index].frames[at] = walk.frames[at]; }
      g_board->count.fetch_add(1);
      return index;
    }
    if (there == hash) { return index; }
  }
  return kSites - 1;
}

/// The first call starts it.
bool is_within(std::atomic<std::int64_t>& begin_ns, Plan::Mode mode) {
  std::int64_t begin = 0;
  const std::int64_t now = now_ns();
  const bool first = begin_ns.compare_exchange_strong(begin, now);
  if (first || mode == Plan::Mode::ever) { return true; }
  return mode == Plan::Mode::for_a_while && now - begin < kWhileNs;
}

bool decide(std::uint32_t allocation, std::uint32_t site) {
  if (g_plan.mode == Plan::Mode::never) { return false; }
  if (g_plan.site == Plan::kEverything) { return allocation >= g_plan.from && is_within(g_begin_ns, g_plan.mode); }
  if (g_plan.site == Plan::kAll) { return is_within(g_first_ns[site], g_plan.mode); }
  return site == g_plan.site && is_within(g_begin_ns, g_plan.mode);
}

}  // namespace

__attribute__((noinline)) bool refuse() {
  if (!g_started.load(std::memory_order_relaxed) || g_exempt != 0) { return false; }
  ++g_exempt;
  const std::uint32_t allocation = g_allocations.fetch_add(1);
  if (g_plan.mode == Plan::Mode::never) { g_board->allocations.store(allocation + 1); }
  const std::uint32_t site = this_site();
  const bool refused = decide(allocation, site);
  if (refused) {
    g_refused.fetch_add(1);
    Last& last = g_board->last[static_cast<std::uint32_t>(::getpid()) % 64];
    last.site.store(site);
    last.child.store(::getpid());
  }
  --g_exempt;
  return refused;
}

void set_up() {
  void* memory = ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) { std::abort(); }
  g_board = new (memory) Board;
  Walk walk;
  _Unwind_Backtrace(step, &walk);  // the first call loads what it needs
  g_allocate_exception = reinterpret_cast<AllocateException>(::dlsym(RTLD_NEXT, "__cxa_allocate_exception"));
}

void begin(const Plan& plan) {
  g_plan = plan;
  g_started.store(true);
}

bool over() {
  switch (g_plan.mode) {
    case Plan::Mode::never:
      return true;
    case Plan::Mode::ever:
      return false;
    case Plan::Mode::once:
      return true;
    case Plan::Mode::for_a_while:
      return g_begin_ns.load() == 0 || now_ns() - g_begin_ns.load() > kWhileNs;
  }
  return true;
}

std::uint32_t refused() { return g_refused.load(); }
std::uint32_t sites() { return g_board->count.load(); }
std::uint32_t allocations() { return g_board->allocations.load(); }

namespace {

/// For addr2line; without frames of the C and C++ libraries.
void print_frames(const std::uintptr_t* frames, unsigned count) {
  Dl_info program = {};
  ::dladdr(reinterpret_cast<const void*>(&print_last), &program);
  for (unsigned at = 0; at < count; ++at) {
    Dl_info info = {};
    const bool known = ::dladdr(reinterpret_cast<const void*>(frames[at]), &info) != 0;
    if (!known || info.dli_fbase != program.dli_fbase) { continue; }
    std::fprintf(stderr, " %#lx",
                 static_cast<unsigned long>(frames[at] - reinterpret_cast<std::uintptr_t>(info.dli_fbase)));
  }
  std::fprintf(stderr, "\n");
}

}  // namespace

void print_last(pid_t child) {
  const Last& last = g_board->last[static_cast<std::uint32_t>(child) % 64];
  if (last.child.load() != child) { return; }
  std::fprintf(stderr, "  the last refusal was at (addr2line -Cfse <program> ...)");
  print_frames(g_board->site[last.site.load()].frames, kFrames);
}

void on_terminate() {
  ++g_exempt;
  Walk walk;
  walk.max = 64;
  _Unwind_Backtrace(step, &walk);
  std::fprintf(stderr, "  std::terminate() was called at");
  print_frames(walk.frames, walk.count);
  std::abort();
}

Exempt::Exempt() { ++g_exempt; }
Exempt::~Exempt() { --g_exempt; }

}  // namespace refusals

#if TEST_SANITIZED

// A sanitizer has its own allocator, so only C++ allocations are refused.
void* operator new(std::size_t bytes) {
  void* memory = refusals::refuse() ? nullptr : std::malloc(bytes);
  if (memory == nullptr) { throw std::bad_alloc(); }
  return memory;
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return refusals::refuse() ? nullptr : std::malloc(bytes);
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  void* memory = nullptr;
  return refusals::refuse() || ::posix_memalign(&memory, static_cast<std::size_t>(alignment), bytes) != 0 ? nullptr
                                                                                                          : memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }

#else

extern "C" {
/// If malloc() fails, libstdc++ takes an exception's memory from a pool with a lock. If a thread of Takt's held that
/// lock while the main thread forks, the child's first exception would block forever. So only the main thread, which
/// forks, may use the pool.
void* __cxa_allocate_exception(std::size_t bytes) noexcept {
  if (::gettid() == ::getpid()) { return refusals::g_allocate_exception(bytes); }
  const refusals::Exempt exempt;
  return refusals::g_allocate_exception(bytes);
}

void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);

void* malloc(std::size_t bytes) noexcept {
  if (!refusals::refuse()) { return __libc_malloc(bytes); }
  errno = ENOMEM;
  return nullptr;
}
void* calloc(std::size_t count, std::size_t bytes) noexcept {
  if (!refusals::refuse()) { return __libc_calloc(count, bytes); }
  errno = ENOMEM;
  return nullptr;
}
void* realloc(void* memory, std::size_t bytes) noexcept {
  if (!refusals::refuse()) { return __libc_realloc(memory, bytes); }
  errno = ENOMEM;
  return nullptr;
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  if (!refusals::refuse()) { return __libc_memalign(alignment, bytes); }
  errno = ENOMEM;
  return nullptr;
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) noexcept {
  void* const found = refusals::refuse() ? nullptr : __libc_memalign(alignment, bytes);
  if (found == nullptr) { return ENOMEM; }
  *memory = found;
  return 0;
}
}

#endif
