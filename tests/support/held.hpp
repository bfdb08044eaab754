// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/scope.hpp>

#include <memory>
#include <optional>

namespace takt_test {

/// A Scope that can be ended early. (On the heap, so that compilers do not warn about uninitialized use.)
class Held {
 public:
  template <class... Arguments>
  explicit Held(const Arguments&... arguments) : scope_(std::make_unique<std::optional<takt::Scope>>()) {
    scope_->emplace(arguments...);
  }
  takt::Scope& operator*() { return **scope_; }
  void end() { scope_.reset(); }

 private:
  std::unique_ptr<std::optional<takt::Scope>> scope_;
};

}  // namespace takt_test
