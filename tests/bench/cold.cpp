// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "driver.hpp"

#include <takt/takt.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace takt_bench {
namespace {

/// Reads the tick counter after all earlier instructions have finished and before later ones start.
std::uint64_t fenced_ticks() {
#if defined(__x86_64__)
  __builtin_ia32_lfence();
  const std::uint64_t now = takt::detail::ticks();
  __builtin_ia32_lfence();
  return now;
#elif defined(__aarch64__)
  asm volatile("isb" : : : "memory");
  const std::uint64_t now = takt::detail::ticks();
  asm volatile("isb" : : : "memory");
  return now;
#else
  return takt::detail::ticks();
#endif
}

/// Half reads and half writes, as a real step does between two regions.
void sweep(std::vector<std::uint64_t>& memory) {
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at < memory.size(); at += 8) {
    if ((at & 8U) == 0) {
      sum += memory[at];
    } else {
      memory[at] = sum;
    }
  }
  asm volatile("" : : "r"(sum) : "memory");
}

/// Returns the addresses that a region reads and writes.
std::array<const void*, 4> data_of_region() {
  return {&takt::detail::cursor, &takt::detail::mode(), &takt::Forward, takt::detail::load_cursor()};
}

/// Flushes the data to memory but leaves the instructions in the cache.
void flush_data() {
#if defined(__x86_64__)
  for (const void* each : data_of_region()) { __builtin_ia32_clflush(each); }
  __builtin_ia32_mfence();
#elif defined(__aarch64__)
  for (const void* each : data_of_region()) { asm volatile("dc civac, %0" : : "r"(each) : "memory"); }
  asm volatile("dsb ish" : : : "memory");
#endif
}

/// Fills the TLB entries of the region's pages by touching other addresses in them.
void touch_pages() {
  constexpr std::uintptr_t kPage = 4096;
  for (const void* each : data_of_region()) {
    const auto address = reinterpret_cast<std::uintptr_t>(each);
    const std::uintptr_t other = (address & ~(kPage - 1)) | ((address + kPage / 2) & (kPage - 1));
    asm volatile("" : : "r"(*reinterpret_cast<const volatile char*>(other)) : "memory");
  }
}

template <class Prepare, class Work>
double median_ticks(Prepare prepare, int times, Work work) {
  std::vector<double> ticks;
  for (int i = 0; i < times; ++i) {
    prepare();
    const std::uint64_t begin = fenced_ticks();
    work();
    ticks.push_back(static_cast<double>(fenced_ticks() - begin));
  }
  return median_of(ticks);
}

double ns_per_tick() {
  const std::uint64_t ticks = takt::detail::ticks();
  const std::uint64_t ns = takt::detail::posix_ns(CLOCK_MONOTONIC);
  std::uint64_t now = ns;
  while (now - ns < 20'000'000) { now = takt::detail::posix_ns(CLOCK_MONOTONIC); }
  return static_cast<double>(now - ns) / static_cast<double>(takt::detail::ticks() - ticks);
}

template <class Prepare>
void print_line(const std::string& name, bool quick, Prepare prepare) {
  const double rate = ns_per_tick();
  const int times = quick ? 300 : 2000;
  const double empty = median_ticks(prepare, times, [] {});
  const double load = median_ticks(prepare, times, [] {
    auto* cursor = takt::detail::load_cursor();
    asm volatile("" : : "r"(cursor));
  });
  const double scope = median_ticks(prepare, times, [] {
    takt::Scope s(takt::Forward);
    barrier();
  });
  std::printf("%-44s %10.0f %10.0f\n", name.c_str(), (scope - empty) * rate, (load - empty) * rate);
}

}  // namespace

void print_cold(bool quick) {
  std::printf("\ncold caches (ns beyond an empty fenced pair; median; folding falls on one region in 31)\n");
  std::printf("%-44s %10s %10s\n", "", "a region", "one load");
  print_line("warm", quick, [] {});
  print_line("its data flushed", quick, flush_data);
  for (const std::size_t kib : {256U, 4096U, 8192U, 16384U}) {
    std::vector<std::uint64_t> memory(kib * 1024 / sizeof(std::uint64_t));
    print_line(std::to_string(kib) + " KiB swept before each", quick, [&memory] { sweep(memory); });
    print_line(std::to_string(kib) + " KiB swept, its pages looked up", quick, [&memory] {
      sweep(memory);
      touch_pages();
    });
  }
}

}  // namespace takt_bench
