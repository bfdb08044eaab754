// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <new>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A T in static storage that is never destroyed, as threads may use it to the very end, and that needs no memory to be
/// there. For a `static` in a function.
template <class T>
class Immortal {
 public:
  template <class... Arguments>
  explicit Immortal(Arguments&&... arguments) noexcept {
    ::new (static_cast<void*>(memory_)) T(std::forward<Arguments>(arguments)...);
  }
  Immortal(const Immortal&) = delete;
  Immortal& operator=(const Immortal&) = delete;

  T& operator*() noexcept { return *std::launder(reinterpret_cast<T*>(memory_)); }

 private:
  alignas(T) unsigned char memory_[sizeof(T)];
};

}  // namespace detail
TAKT_END_NAMESPACE
