// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/error.hpp>

#include "base/report_error.hpp"

#include <mutex>
#include <string>
#include <vector>

namespace support {

/// Collects error lines during its lifetime; every cause may be reported again. One at a time.
class CaughtErrors {
 public:
  CaughtErrors() {
    takt::detail::forget_errors();
    takt::set_error_handler(&CaughtErrors::add, this);
  }
  ~CaughtErrors() { takt::set_error_handler(nullptr); }
  CaughtErrors(const CaughtErrors&) = delete;
  CaughtErrors& operator=(const CaughtErrors&) = delete;

  std::vector<std::string> lines() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return lines_;
  }
  /// Returns all lines, each with a newline.
  std::string text() const {
    std::string all;
    for (const std::string& line : lines()) { all += line + "\n"; }
    return all;
  }

 private:
  static void add(const char* line, void* self) {
    auto& caught = *static_cast<CaughtErrors*>(self);
    const std::lock_guard<std::mutex> lock(caught.mutex_);
    caught.lines_.emplace_back(line);
  }

  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

}  // namespace support
