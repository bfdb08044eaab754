// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <takt/detail/macros_begin.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

constexpr int kRelaxedCaptureMode = 2;

/// While it lives, questions of this thread do no harm to captures, of whichever thread and mode.
template <class Api>
class RelaxedMode {
 public:
  RelaxedMode() noexcept : exchanged_(Api::exchange_mode(mode_)) {}
  ~RelaxedMode() {
    if (exchanged_) { Api::exchange_mode(mode_); }
  }
  RelaxedMode(const RelaxedMode&) = delete;
  RelaxedMode& operator=(const RelaxedMode&) = delete;

 private:
  int mode_ = kRelaxedCaptureMode;  // then what it was before
  const bool exchanged_;
};

}  // namespace detail
TAKT_END_NAMESPACE

#include <takt/detail/macros_end.hpp>
