// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>
#include <takt/key.hpp>
#include <takt/scope.hpp>
#include <takt/stream.hpp>

#include <cstdint>

TAKT_BEGIN_NAMESPACE

/// Returns the bytes in use now; below 0: unknown.
using MemoryQuery = std::int64_t (*)();

#if TAKT_ENABLED

namespace detail {

/// Notes the memory at the start of a region of `key`. Returns its number; 0, counted, if it cannot. Any thread.
TAKT_EXPORT std::uint32_t begin_memory(const Key& key) noexcept;
/// Notes the memory at the end of a region. Any thread.
TAKT_EXPORT void end_memory(std::uint32_t number) noexcept;

}  // namespace detail

/// Times a region like a Scope, and notes the memory of the process in it (Snapshot::region_memories):
///
///     { takt::MemoryScope s(takt::Forward);  net.forward(); }
///
/// Reads /proc/self/statm before and after the region, outside of its time: some microseconds each, with system calls
/// and a lock. For a span on a stream, put a Scope with the stream inside. Never throws. Any thread.
class [[nodiscard]] MemoryScope {
 public:
  [[nodiscard]] explicit MemoryScope(const Key& key) noexcept : number_(detail::begin_memory(key)), scope_(key) {}
  ~MemoryScope() noexcept {
    scope_.end();
    detail::end_memory(number_);
  }
  MemoryScope(const MemoryScope&) = delete;
  MemoryScope& operator=(const MemoryScope&) = delete;
  static void* operator new(std::size_t) = delete;
  static void* operator new[](std::size_t) = delete;

  void items(std::int64_t n) noexcept { scope_.items(n); }
  void bytes(std::int64_t n) noexcept { scope_.bytes(n); }

 private:
  const std::uint32_t number_;
  Scope scope_;
};

/// Sets the function that tells the bytes in use of the program's own allocator, such as libtorch's on a GPU.
/// MemoryScopes call it on their threads, before and after their regions; it must not throw. nullptr: none. Any thread.
TAKT_EXPORT void set_allocator_memory(MemoryQuery query) noexcept;

TAKT_END_NAMESPACE

#else

TAKT_END_NAMESPACE

TAKT_BEGIN_OFF_NAMESPACE

/// Compiled out: does nothing.
class [[nodiscard]] MemoryScope {
 public:
  [[nodiscard]] explicit MemoryScope(const Key&) noexcept {}
  ~MemoryScope() noexcept {}
  MemoryScope(const MemoryScope&) = delete;
  MemoryScope& operator=(const MemoryScope&) = delete;
  void items(std::int64_t) noexcept {}
  void bytes(std::int64_t) noexcept {}
};

inline void set_allocator_memory(MemoryQuery) noexcept {}

TAKT_END_OFF_NAMESPACE

#endif
