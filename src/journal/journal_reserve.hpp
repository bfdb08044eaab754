// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include "base/descriptor.hpp"

#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Room on the disk for the last words of a journal: a file without a name, that goes with the process. Where the file
/// system has no such files, or no room for it, there is none. One thread at a time.
class JournalReserve {
 public:
  /// Takes it, unless it has some.
  void take(const std::string& directory) noexcept;
  /// Gives it back. False where there was none.
  bool give() noexcept;

 private:
  Descriptor file_;
  bool tried_ = false;
};

}  // namespace detail
TAKT_END_NAMESPACE
