// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// A million ranges take no memory: functions that replace the C library's count allocations. Uses NVTX or, with ROCTX
// defined, ROCTX. The fake profiler only counts. Exits with 0 if it got all ranges and there were few allocations.
#ifdef ROCTX
#include <takt/exporters/roctx.hpp>
using Ranges = takt::RoctxRanges;
#else
#include <takt/exporters/nvtx.hpp>
using Ranges = takt::NvtxRanges;
#endif
#include <takt/takt.hpp>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <optional>

#include <dlfcn.h>

namespace {

std::atomic<long> allocations{0};

}  // namespace

// Replace the C library's functions, for everything that is loaded.
extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);

void* malloc(std::size_t bytes) {
  ++allocations;
  return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) {
  ++allocations;
  return __libc_calloc(count, bytes);
}
void* realloc(void* memory, std::size_t bytes) {
  ++allocations;
  return __libc_realloc(memory, bytes);
}
}

namespace {

constexpr takt::Key Optimizer{"Optimizer", takt::Kind::compute};
constexpr long kRangesOfARound = 10;

void deep(int levels) {
  if (levels == 0) { return; }
  const takt::Scope scope(takt::Forward);
  deep(levels - 1);
}

void round_of_ranges() {
  const takt::Scope batch(takt::Batch);
  {
    takt::Scope forward(takt::Forward);
    forward.lap(takt::Comm);
    const takt::Scope optimizer(Optimizer);
  }
  static std::optional<takt::Scope> first;
  static std::optional<takt::Scope> second;
  first.emplace(takt::IO);
  second.emplace(takt::Comm);
  first.reset();  // and the second one starts again
  second.reset();
  deep(3);
}

long reported() {
  const char* const library = std::getenv("RANGES_PROFILER");
  void* const profiler = library == nullptr ? nullptr : ::dlopen(library, RTLD_NOW | RTLD_NOLOAD);
  auto* const count =
      profiler == nullptr ? nullptr : reinterpret_cast<long (*)()>(::dlsym(profiler, "ranges_reported"));
  return count == nullptr ? -1 : count();
}

}  // namespace

int main() {
  constexpr long kRounds = 100'000;
  const Ranges ranges;
  for (int round = 0; round < 100; ++round) { round_of_ranges(); }
  const long reported_before = reported();
  const long before = allocations;
  void* volatile known = ::operator new(1);  // volatile: a compiler may remove the pair
  ::operator delete(known);
  const bool counts = allocations != before;
  const long warm = allocations;
  for (long round = 0; round < kRounds; ++round) { round_of_ranges(); }
  const long made = allocations - warm;
  const long ranges_reported = reported() - reported_before;
  std::printf("%ld ranges, %ld allocations%s\n", ranges_reported, made, counts ? "" : ", which are not counted");
  // Summaries grow when the first duration of an octave arrives.
  return counts && ranges_reported == kRounds * kRangesOfARound && made < 1000 ? 0 : 1;
}
