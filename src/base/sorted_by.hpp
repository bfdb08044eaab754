// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// The elements by what `order` makes of each, least first; alike ones in the order given. Each moves once: sorted in
/// place, large ones need several times as much code.
template <class Element, class Order>
std::vector<Element> sorted_by(std::vector<Element> elements, Order order) {
  std::vector<std::pair<decltype(order(elements.front())), std::size_t>> places;
  for (std::size_t place = 0; place < elements.size(); ++place) { places.emplace_back(order(elements[place]), place); }
  std::sort(places.begin(), places.end());
  std::vector<Element> sorted;
  sorted.reserve(elements.size());
  for (const auto& each : places) { sorted.push_back(std::move(elements[each.second])); }
  return sorted;
}

}  // namespace detail
TAKT_END_NAMESPACE
