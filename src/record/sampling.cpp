// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "record/sampling.hpp"

TAKT_BEGIN_NAMESPACE
namespace detail {

bool Sampling::takes(KeyIndex key, std::uint32_t every) noexcept {
  std::size_t place = key % kPlaces;
  for (std::size_t tried = 0; tried < kPlaces && key_[place] != key && key_[place] != kNoKey; ++tried) {
    place = (place + 1) % kPlaces;
  }
  if (key_[place] != key) {
    key_[place] = key;
    count_[place] = 0;
  }
  const bool timed = count_[place] == 0;
  count_[place] = count_[place] + 1 >= every ? 0 : count_[place] + 1;
  return timed;
}

}  // namespace detail
TAKT_END_NAMESPACE
