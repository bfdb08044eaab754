// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "trackers/crc32.hpp"

#include <array>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr std::uint32_t kPolynomial = 0xEDB88320U;  // bits reversed

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) { crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? kPolynomial : 0U); }
    table[byte] = crc;
  }
  return table;
}

constexpr std::array<std::uint32_t, 256> kTable = make_table();

}  // namespace

std::uint32_t crc32(std::string_view bytes, std::uint32_t before) noexcept {
  std::uint32_t crc = ~before;
  for (const char each : bytes) { crc = (crc >> 8U) ^ kTable[(crc ^ static_cast<unsigned char>(each)) & 0xFFU]; }
  return ~crc;
}

}  // namespace detail
TAKT_END_NAMESPACE
