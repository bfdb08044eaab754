// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

TAKT_BEGIN_NAMESPACE
namespace detail {

// POSIX tar format (ustar, with pax extended headers): blocks of 512 bytes; two zero blocks end the file. All
// functions: any thread.

constexpr std::size_t kTarBlock = 512;

/// Contents of an entry's header.
struct TarEntry {
  static constexpr char kFile = '0';
  static constexpr char kDirectory = '5';
  static constexpr char kExtension = 'x';  ///< extended header for the next entry
  static constexpr char kDefaults = 'g';   ///< extended header for all entries

  std::string path;  ///< a directory read from a file may keep its trailing slash
  char type = kFile;
  std::uint64_t bytes = 0;
  std::int64_t changed_unix_ns = 0;
};

/// Returns the size in bytes, rounded up to whole blocks. REQUIRES: bytes below 2^63.
constexpr std::uint64_t tar_blocks(std::uint64_t bytes) noexcept {
  return (bytes + kTarBlock - 1) / kTarBlock * kTarBlock;
}

/// Returns the header of a file or directory, preceded by an extended one if the name is long or the time has fractions
/// of a second.
std::string tar_header(const TarEntry& entry);

/// Parses a header. Returns false if it is damaged or not a header. REQUIRES: kTarBlock bytes.
bool parse_tar_header(std::string_view block, TarEntry& entry);

/// Applies an extended header to `entry`. Returns false if it cannot be parsed to its end.
bool parse_tar_extension(std::string_view records, TarEntry& entry);

}  // namespace detail
TAKT_END_NAMESPACE
