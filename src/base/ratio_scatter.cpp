// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/ratio_scatter.hpp"

#include "base/student_t975.hpp"

#include <cmath>

TAKT_BEGIN_NAMESPACE
namespace detail {

double RatioScatter::interval_factor(double wider) const noexcept {
  const double deviation = std::sqrt(squares * windows / (windows - 1) * wider) / items / ns_an_item;
  return std::exp(student_t975(static_cast<std::uint64_t>(windows) - 1) * deviation);
}

RatioScatter scatter_of(const WindowShare* windows, std::uint64_t count) noexcept {
  RatioScatter scatter;
  scatter.windows = static_cast<double>(count);
  double ns = 0;
  for (std::uint64_t at = 0; at < count; ++at) {
    scatter.items += windows[at].items;
    ns += windows[at].ns;
  }
  if (scatter.items <= 0) { return scatter; }
  scatter.ns_an_item = ns / scatter.items;
  double before = 0;
  for (std::uint64_t at = 0; at < count; ++at) {
    const double longer = windows[at].ns - scatter.ns_an_item * windows[at].items;
    scatter.squares += longer * longer;
    scatter.neighbours += longer * before;
    before = longer;
  }
  return scatter;
}

}  // namespace detail
TAKT_END_NAMESPACE
