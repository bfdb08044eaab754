// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/exporters/roctx.hpp>

#include "base/threads.hpp"
#include "profilers/range_stack.hpp"

#include <dlfcn.h>

TAKT_BEGIN_NAMESPACE
namespace {

/// The functions of ROCTX: https://github.com/ROCm/rocm-systems, roctx.h.
struct Roctx {
  int (*range_push)(const char* name) = nullptr;
  int (*range_pop)() = nullptr;

  static Roctx find() noexcept { return Roctx(); }
  static const Roctx& get() noexcept { return detail::made_once<find>(); }
  bool is_there() const noexcept { return range_push != nullptr && range_pop != nullptr; }

  static void push(const Key& key, std::int64_t) noexcept { get().range_push(key.name()); }
  static void pop() noexcept { get().range_pop(); }

 private:
  Roctx() noexcept {
    // Prefers the library that the program uses, so that its ranges and these appear in one profiler.
    if (take(RTLD_DEFAULT)) { return; }
    for (const char* const name :
         {"librocprofiler-sdk-roctx.so.1", "librocprofiler-sdk-roctx.so", "libroctx64.so.4", "libroctx64.so"}) {
      void* const library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
      if (library != nullptr && take(library)) { return; }
    }
  }
  bool take(void* library) noexcept {
    range_push = reinterpret_cast<decltype(range_push)>(::dlsym(library, "roctxRangePushA"));
    range_pop = reinterpret_cast<decltype(range_pop)>(::dlsym(library, "roctxRangePop"));
    return is_there();
  }
};

}  // namespace

RoctxRanges::RoctxRanges() noexcept
    : active_(Roctx::get().is_there() && add_listener(detail::RangeStack<Roctx>::listener())) {}

RoctxRanges::~RoctxRanges() {
  if (active_) { remove_listener(detail::RangeStack<Roctx>::listener()); }
}

TAKT_END_NAMESPACE
