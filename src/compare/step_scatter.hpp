// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <array>
#include <cstddef>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// How much the steps of one run leave open about its mean: from windows of consecutive steps, which double in length
/// when there are 64 of them, so that it never grows. One thread at a time.
class StepScatter {
 public:
  /// \param total of a step, \param calls in it: what the mean is over.
  void add(double total, double calls) noexcept;

  /// Of the mean of a call, as a share of it; 0 with fewer than eight windows. Windows are like their neighbours where
  /// steps are: their lag-one correlation r widens it by (1 + r) / (1 - r).
  double standard_error() const noexcept;

 private:
  static constexpr std::size_t kMost = 64;
  static constexpr std::size_t kFewest = 8;
  struct Window {
    double total = 0;
    double calls = 0;
  };

  std::array<Window, kMost> windows_ = {};
  std::size_t full_ = 0;    // windows that have all their steps
  std::size_t length_ = 1;  // of a window, in steps
  std::size_t steps_ = 0;   // in the one that is being filled
};

}  // namespace detail
TAKT_END_NAMESPACE
