// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "record/told_regions.hpp"

TAKT_BEGIN_NAMESPACE
namespace detail {

bool ToldRegions::add(std::uint32_t id, unsigned listeners) noexcept {
  for (auto& place : place_) {
    // Acquire: pairs with the release half of the exchange in take(), which has emptied the place.
    if (place.load(std::memory_order_acquire) != 0) { continue; }
    place.store(id << 8U | listeners, std::memory_order_release);  // pairs with the acquire in take()
    return true;
  }
  return false;
}

unsigned ToldRegions::take(std::uint32_t id) noexcept {
  for (auto& place : place_) {
    std::uint32_t value = place.load(std::memory_order_acquire);  // pairs with the release in add()
    if (value == 0 || value >> 8U != id) { continue; }
    // Release: pairs with the acquire in add(), which may fill the place again.
    if (place.compare_exchange_strong(value, 0, std::memory_order_acq_rel)) { return value & 0xFFU; }
  }
  return 0;
}

void ToldRegions::forget() noexcept {
  for (auto& place : place_) { place.store(0, std::memory_order_release); }  // pairs with the acquire in add()
}

}  // namespace detail
TAKT_END_NAMESPACE
