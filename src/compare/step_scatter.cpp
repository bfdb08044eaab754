// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "compare/step_scatter.hpp"

#include <algorithm>
#include <cmath>

TAKT_BEGIN_NAMESPACE
namespace detail {

void StepScatter::add(double total, double calls) noexcept {
  if (full_ == kMost) {
    for (std::size_t at = 0; at < kMost / 2; ++at) {
      windows_[at] = {windows_[2 * at].total + windows_[2 * at + 1].total,
                      windows_[2 * at].calls + windows_[2 * at + 1].calls};
    }
    std::fill(windows_.begin() + kMost / 2, windows_.end(), Window());
    full_ = kMost / 2;
    length_ *= 2;
  }
  windows_[full_].total += total;
  windows_[full_].calls += calls;
  if (++steps_ == length_) {
    steps_ = 0;
    ++full_;
  }
}

double StepScatter::standard_error() const noexcept {
  if (full_ < kFewest) { return 0; }
  Window all;
  for (std::size_t at = 0; at < full_; ++at) {
    all.total += windows_[at].total;
    all.calls += windows_[at].calls;
  }
  if (all.total <= 0 || all.calls <= 0) { return 0; }
  const double mean = all.total / all.calls;
  double squares = 0;
  double neighbours = 0;
  double before = 0;
  for (std::size_t at = 0; at < full_; ++at) {
    const double beside = windows_[at].total - mean * windows_[at].calls;
    squares += beside * beside;
    neighbours += at == 0 ? 0 : beside * before;
    before = beside;
  }
  const auto n = static_cast<double>(full_);
  const double r = squares > 0 ? std::clamp(neighbours / squares, 0.0, 0.9) : 0;
  return std::sqrt(squares * n / (n - 1) * (1 + r) / (1 - r)) / all.total;
}

}  // namespace detail
TAKT_END_NAMESPACE
