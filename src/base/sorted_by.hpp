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

/// Returns the elements sorted by the keys that `order` returns, lowest first; equal ones keep their order. Each
/// element moves once: an in-place sort of large elements needs several times more code.
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
