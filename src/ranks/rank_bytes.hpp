// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstdint>
#include <string>
#include <string_view>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Header of one kind of bytes that are written to a file or sent to a rank.
struct SealKind {
  std::string_view magic;  ///< 8 characters
  std::uint32_t version;   ///< written version; this and earlier ones can be read
  const char* name;        ///< for errors: "rank record"
};

/// Prepends a header: magic, version, CRC-32C of everything except magic and checksum, and length.
std::string seal(const SealKind& kind, std::string_view values);
/// Returns the values inside bytes of seal(). Throws takt::Error with the reason if they are invalid.
std::string_view unseal(const SealKind& kind, std::string_view bytes);
/// \throws takt::Error "<name>: <why>"
[[noreturn]] void refuse_bytes(const SealKind& kind, const std::string& why);

}  // namespace detail
TAKT_END_NAMESPACE
