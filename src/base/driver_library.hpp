// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <atomic>
#include <cstddef>
#include <cstdio>

#include <dlfcn.h>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A vendor's library, loaded at run time and never closed.
class DriverLibrary {
 public:
  /// Opens the first of `names` that the process has already loaded, else the first that can be loaded.
  template <std::size_t Count>
  explicit DriverLibrary(const char* const (&names)[Count]) noexcept {
    for (const char* name : names) { handle_ = handle_ == nullptr ? ::dlopen(name, RTLD_NOW | RTLD_NOLOAD) : handle_; }
    for (const char* name : names) { handle_ = handle_ == nullptr ? ::dlopen(name, RTLD_NOW | RTLD_LOCAL) : handle_; }
    if (handle_ == nullptr) { set_missing("%s cannot be loaded", names[0]); }
  }

  /// Looks up `function` by name. The library is unusable without it, unless it is `optional`.
  template <class Function>
  void find(Function*& function, const char* name, bool optional = false) noexcept {
    function = handle_ == nullptr ? nullptr : reinterpret_cast<Function*>(::dlsym(handle_, name));
    if (function == nullptr && !optional && missing() == nullptr) {
      set_missing("the driver is too old: it has no %s", name);
    }
  }

  /// Returns why the library is unusable; nullptr if it is usable.
  const char* missing() const noexcept { return missing_[0] == '\0' ? nullptr : missing_; }

 private:
  template <std::size_t Length>
  void set_missing(const char (&format)[Length], const char* name) noexcept {
    std::snprintf(missing_, sizeof missing_, format, name);
  }

  void* handle_ = nullptr;
  char missing_[128] = {};
};

/// Tracks if a device is usable in this process, and the reason if not. Any thread.
class Availability {
 public:
  const char* reason() const noexcept { return reason_.load(std::memory_order_acquire); }  // pairs with lose()
  /// Disables the device permanently. The first reason is kept.
  void lose(const char* reason) noexcept {
    const char* none = nullptr;
    reason_.compare_exchange_strong(none, reason, std::memory_order_acq_rel);  // pairs with reason()
  }
  /// Records that the device was used: a forked child must not touch it.
  void used() noexcept {
    if (!used_.load(std::memory_order_relaxed)) { used_.store(true, std::memory_order_relaxed); }
  }
  void after_fork_in_child() noexcept {
    if (used_.load(std::memory_order_relaxed)) { lose("this is a child of a process that used the device"); }
  }

 private:
  std::atomic<const char*> reason_{nullptr};
  std::atomic<bool> used_{false};
};

}  // namespace detail
TAKT_END_NAMESPACE
