// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstdint>
#include <string_view>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// FNV-1a of 32 bits: the same on every machine, as names that end in it have to be. Another `salt` gives another hash.
/// Any thread.
constexpr std::uint32_t short_hash(std::string_view text, std::uint32_t salt = 0) noexcept {
  std::uint32_t hash = 2166136261U ^ salt;
  for (const char each : text) { hash = (hash ^ static_cast<unsigned char>(each)) * 16777619U; }
  return hash;
}

}  // namespace detail
TAKT_END_NAMESPACE
