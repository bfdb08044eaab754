// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "record/pinned.hpp"

#include <dlfcn.h>
#include <link.h>
#include <atomic>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

std::atomic<bool> g_pinned{false};

/// Runs while the library is loaded, on the thread that holds the loader's lock. The first use would be too late: the
/// loading thread may wait for one that uses Takt, which would wait for the lock.
__attribute__((constructor)) void pin_when_loaded() { pin_library(); }

}  // namespace

void pin_library() noexcept {
  if (g_pinned.load(std::memory_order_relaxed)) { return; }
  Dl_info info = {};
  void* found = nullptr;
  const bool known = ::dladdr1(reinterpret_cast<const void*>(&g_pinned), &info, &found, RTLD_DL_LINKMAP) != 0;
  const auto* const object = static_cast<const link_map*>(found);
  const bool is_program = !known || object == nullptr || object->l_name == nullptr || object->l_name[0] == '\0';
  // The loader finds a loaded library by this name. The handle is never closed.
  const bool pinned = is_program || ::dlopen(object->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE) != nullptr;
  g_pinned.store(pinned, std::memory_order_relaxed);
}

}  // namespace detail
TAKT_END_NAMESPACE
