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

// The format of tar as POSIX has it (ustar, with extended headers of pax): blocks of 512 bytes, of which two of zeros
// stand behind the last entry. All: any thread.

constexpr std::size_t kTarBlock = 512;

/// What a header says of what stands behind it.
struct TarEntry {
  static constexpr char kFile = '0';
  static constexpr char kDirectory = '5';
  static constexpr char kExtension = 'x';  ///< an extended header, which is about the next entry
  static constexpr char kDefaults = 'g';   ///< one that is about all of them

  std::string path;  ///< of a directory read from a file with the slash that it may end with, else without
  char type = kFile;
  std::uint64_t bytes = 0;
  std::int64_t changed_unix_ns = 0;
};

/// Returns how many bytes of whole blocks so many take. REQUIRES: below 2^63.
constexpr std::uint64_t tar_blocks(std::uint64_t bytes) noexcept {
  return (bytes + kTarBlock - 1) / kTarBlock * kTarBlock;
}

/// Returns what stands in front of a file or directory: a header, and before that an extended one if the name is long
/// or
/// the time is finer than seconds.
std::string tar_header(const TarEntry& entry);

/// Reads a header. Returns whether these are one, undamaged. REQUIRES: kTarBlock bytes.
bool parse_tar_header(std::string_view block, TarEntry& entry);

/// Puts into `entry` what an extended header says. Returns whether it can be read to its end.
bool parse_tar_extension(std::string_view records, TarEntry& entry);

}  // namespace detail
TAKT_END_NAMESPACE
