// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "sample/meter_window.hpp"

#include "sample/meter_books.hpp"

#include <cstddef>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {

std::vector<MeterWindow> meter_windows(const std::vector<Meter>& meters, const std::vector<Sample>& samples,
                                       std::int64_t begin_ns, std::int64_t end_ns) {
  std::vector<MeterWindow> windows;
  for (std::uint32_t meter = 0; meter < meters.size(); ++meter) {
    MeterBooks inside(meters[meter]);
    MeterBooks around(meters[meter]);
    for (const Sample& each : samples) {
      if (each.meter != meter) { continue; }
      around.add(each);
      if (each.time_ns >= begin_ns && each.time_ns <= end_ns) { inside.add(each); }
    }
    MeterWindow window;
    window.meter = meter;
    window.figures = meters[meter];
    inside.tell(window.figures);
    const EnergyPoints* const energy = around.energy();
    window.has_energy = energy != nullptr && energy->between(begin_ns, end_ns, window.energy);
    if (window.figures.samples != 0 || window.has_energy) { windows.push_back(std::move(window)); }
  }
  return windows;
}

}  // namespace detail
TAKT_END_NAMESPACE
