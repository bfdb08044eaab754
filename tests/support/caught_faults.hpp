// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/error.hpp>

#include "base/fault.hpp"

#include <mutex>
#include <string>
#include <vector>

namespace support {

/// Collects the lines that are told while it lives; every cause may speak again. One at a time.
class CaughtFaults {
 public:
  CaughtFaults() {
    takt::detail::forget_faults();
    takt::set_error_handler(&CaughtFaults::add, this);
  }
  ~CaughtFaults() { takt::set_error_handler(nullptr); }
  CaughtFaults(const CaughtFaults&) = delete;
  CaughtFaults& operator=(const CaughtFaults&) = delete;

  std::vector<std::string> lines() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return lines_;
  }
  /// All of them, one a line.
  std::string text() const {
    std::string all;
    for (const std::string& line : lines()) { all += line + "\n"; }
    return all;
  }

 private:
  static void add(const char* line, void* self) {
    auto& caught = *static_cast<CaughtFaults*>(self);
    const std::lock_guard<std::mutex> lock(caught.mutex_);
    caught.lines_.emplace_back(line);
  }

  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

}  // namespace support
