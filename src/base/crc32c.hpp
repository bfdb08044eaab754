// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstdint>
#include <string_view>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// CRC-32C (Castagnoli) of `bytes`, going on from that of the bytes before them. Any thread. Exported for the exporters
/// that are libraries of their own.
TAKT_EXPORT std::uint32_t crc32c(std::string_view bytes, std::uint32_t before = 0) noexcept;
/// The same without the processor's instruction for it.
std::uint32_t crc32c_portable(std::string_view bytes, std::uint32_t before = 0) noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
