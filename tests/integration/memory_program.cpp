// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Checks all memory of a process with a Session, to the last byte: the data and every copy that is made while it is
// collected, written and closed. Counts every allocation; the peak must stay within the bound in docs/concepts.md.
//   memory_program <what> <most>: exits with 0 if the peak was at most <most> times SessionOptions::memory_bytes
//   sparse: the maximum number of keys, each with one duration of every length
//   dense: keys with a duration in every bucket of their histograms
//   threads: many keys on eight threads that end, and whose sums are kept
#include <takt/session.hpp>
#include <takt/takt.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <malloc.h>

namespace {

std::atomic<std::size_t> now{0};
std::atomic<std::size_t> max{0};

void* counted(void* memory) {
  if (memory == nullptr) { return nullptr; }
  const std::size_t bytes = ::malloc_usable_size(memory) + sizeof(std::size_t);  // including malloc's overhead
  const std::size_t sum = now.fetch_add(bytes) + bytes;
  std::size_t before = max.load();
  while (sum > before && !max.compare_exchange_weak(before, sum)) {}
  return memory;
}

void* checked(void* memory) {
  if (memory == nullptr) { throw std::bad_alloc(); }
  return memory;
}

void release(void* memory) {
  if (memory == nullptr) { return; }
  now.fetch_sub(::malloc_usable_size(memory) + sizeof(std::size_t));
  std::free(memory);
}

void* aligned(std::size_t bytes, std::align_val_t alignment) {
  const auto edge = static_cast<std::size_t>(alignment);
  return counted(std::aligned_alloc(edge < sizeof(void*) ? sizeof(void*) : edge, (bytes + edge - 1) / edge * edge));
}

constexpr int kOctaves = 40;
constexpr int kMaxKeys = 3900;

const takt::Key& key(int number) {
  return takt::key(("a key of some length, number " + std::to_string(number)).c_str());
}

/// One duration in each octave; twice, because histograms exclude the first call of a path and warm-up.
void sparse(int first, int last) {
  for (int number = first; number < last; ++number) {
    for (int octave = 0; octave < 2 * kOctaves; ++octave) {
      takt::record(key(number), std::chrono::nanoseconds(std::int64_t{1} << (octave % kOctaves + 5)));
    }
  }
}

void dense(int keys) {
  for (int number = 0; number < keys; ++number) {
    for (unsigned bucket = 0; bucket < takt::Histogram::buckets(); ++bucket) {
      takt::record(key(number), std::chrono::nanoseconds(takt::Histogram::lowest_ns(bucket)));
    }
  }
}

void on_threads() {
  for (int thread = 0; thread < 8; ++thread) {
    std::thread([thread] { sparse(thread * 480, (thread + 1) * 480); }).join();
  }
}

}  // namespace

void* operator new(std::size_t bytes) { return checked(counted(std::malloc(bytes))); }
void* operator new[](std::size_t bytes) { return checked(counted(std::malloc(bytes))); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return counted(std::malloc(bytes)); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return counted(std::malloc(bytes)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) { return checked(aligned(bytes, alignment)); }
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return aligned(bytes, alignment);
}
void operator delete(void* memory) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { release(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept { release(memory); }

int main(int count, char** arguments) {
  const std::string what = count > 1 ? arguments[1] : "";
  takt::SessionOptions options = takt::SessionOptions::from_env();
  options.table = false;
  options.period = std::chrono::milliseconds(3'600'000);
  options.exit_timeout = std::chrono::milliseconds(60'000);
  options.background = false;  // makes simultaneous allocations deterministic
  takt::Session session("memory", options);
  if (what == "sparse") { sparse(0, kMaxKeys); }
  if (what == "dense") { dense(700); }
  if (what == "threads") { on_threads(); }
  const std::size_t recorded = now.load();
  session.poll();
  session.poll();
  const std::size_t polled = max.load();
  if (!session.close()) { return 1; }
  const double mib = 1U << 20U;
  std::printf("recorded %.1f MiB, with polls at the most %.1f MiB, with close() %.1f MiB, left %.1f MiB\n",
              static_cast<double>(recorded) / mib, static_cast<double>(polled) / mib,
              static_cast<double>(max.load()) / mib, static_cast<double>(now.load()) / mib);
  const double bound = (count > 2 ? std::atof(arguments[2]) : 0) * static_cast<double>(options.memory_bytes);
  return static_cast<double>(max.load()) <= bound ? 0 : 2;
}
