// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Preloaded, it counts a process's calls to CUDA driver functions that wait or that handle events: dlsym() and
// cuGetProcAddress() return a function that counts and forwards the call. Read the counts with count_calls() in the
// process, or set COUNT_CALLS=<file> to have them written at exit.
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

#include <dlfcn.h>

namespace {

constexpr std::size_t kMax = 64;

/// All counted functions take at most four arguments and no floating-point ones, so the registers pass through
/// unchanged.
using Function = int(void*, void*, void*, void*);

struct Counted {
  char name[64] = {};
  Function* real = nullptr;
  std::atomic<long> calls{0};
};
Counted counted[kMax];
std::mutex mutex;

template <std::size_t Index>
int count_and_call(void* a, void* b, void* c, void* d) {
  counted[Index].calls.fetch_add(1, std::memory_order_relaxed);
  return counted[Index].real(a, b, c, d);
}
template <std::size_t... Index>
Function* counting(std::size_t index, std::index_sequence<Index...>) {
  static constexpr Function* kAll[] = {&count_and_call<Index>...};
  return kAll[index];
}

bool is_counted(const char* name) {
  return std::strncmp(name, "cu", 2) == 0 &&
         (std::strstr(name, "Synchronize") != nullptr || std::strncmp(name, "cuEvent", 7) == 0);
}

using ProcAddress = int(const char*, void**, int, unsigned long long, void*);
std::atomic<ProcAddress*> real_proc_address{nullptr};

void* instead_of(const char* name, void* real);

/// cuGetProcAddress of either version: the older one ignores the additional status argument.
int proc_address(const char* name, void** function, int version, unsigned long long flags, void* status) {
  const int error = real_proc_address.load()(name, function, version, flags, status);
  if (error == 0 && function != nullptr) { *function = instead_of(name, *function); }
  return error;
}

/// Returns the function to call instead of `real`; `real` itself if it is not counted or the table is full.
void* instead_of(const char* name, void* real) {
  if (real == nullptr) { return nullptr; }
  if (std::strncmp(name, "cuGetProcAddress", 16) == 0) {
    if (real != reinterpret_cast<void*>(&proc_address)) { real_proc_address = reinterpret_cast<ProcAddress*>(real); }
    return reinterpret_cast<void*>(&proc_address);
  }
  if (!is_counted(name)) { return real; }
  const std::lock_guard<std::mutex> lock(mutex);
  for (std::size_t index = 0; index < kMax; ++index) {
    Counted& each = counted[index];
    if (each.real == nullptr) {
      std::snprintf(each.name, sizeof each.name, "%s", name);
      each.real = reinterpret_cast<Function*>(real);
    }
    if (reinterpret_cast<void*>(each.real) == real) {
      return reinterpret_cast<void*>(counting(index, std::make_index_sequence<kMax>()));
    }
  }
  return real;
}

using Lookup = void*(void*, const char*);
Lookup* real_dlsym() {
  static Lookup* const found = [] {
    for (const char* version : {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"}) {
      if (void* function = ::dlvsym(RTLD_NEXT, "dlsym", version)) { return reinterpret_cast<Lookup*>(function); }
    }
    std::abort();
  }();
  return found;
}

/// Writes the counts to the file COUNT_CALLS when the process ends.
struct Report {
  ~Report() {
    const char* path = std::getenv("COUNT_CALLS");
    std::FILE* file = path == nullptr ? nullptr : std::fopen(path, "w");
    if (file == nullptr) { return; }
    for (const Counted& each : counted) {
      if (each.real != nullptr) { std::fprintf(file, "%s %ld\n", each.name, each.calls.load()); }
    }
    std::fclose(file);
  }
};
Report report;

}  // namespace

extern "C" {

__attribute__((visibility("default"))) void* dlsym(void* handle, const char* name) noexcept {
  return instead_of(name, real_dlsym()(handle, name));
}

/// Returns the number of calls so far of all functions whose names contain `part`.
__attribute__((visibility("default"))) long count_calls(const char* part) {
  const std::lock_guard<std::mutex> lock(mutex);
  long calls = 0;
  for (const Counted& each : counted) {
    if (std::strstr(each.name, part) != nullptr) { calls += each.calls.load(); }
  }
  return calls;
}
}
