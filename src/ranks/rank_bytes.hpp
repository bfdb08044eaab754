// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstdint>
#include <string>
#include <string_view>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What a kind of bytes that go to a file or to another rank begins with, and what errors call it.
struct SealKind {
  std::string_view magic;  ///< 8 characters
  std::uint32_t version;   ///< that is written; what has this or an earlier one is read
  const char* name;        ///< "rank record"
};

/// The values behind a header: magic, version, CRC-32C of all that is neither magic nor the checksum, and length.
std::string seal(const SealKind& kind, std::string_view values);
/// The values in what seal() has made. Bytes may be anything: throws Error, which says what is wrong with them.
std::string_view unseal(const SealKind& kind, std::string_view bytes);
/// \throws takt::Error "<name>: <why>"
[[noreturn]] void refuse_bytes(const SealKind& kind, const std::string& why);

}  // namespace detail
TAKT_END_NAMESPACE
