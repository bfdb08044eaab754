// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstdint>
#include <string_view>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// CRC-32 of IEEE 802.3, as in zlib and gzip, of `bytes`, going on from that of the bytes before them. Any thread.
std::uint32_t crc32(std::string_view bytes, std::uint32_t before = 0) noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
