// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/tar.hpp"

#include "base/format.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

// Offsets and lengths of header fields.
constexpr std::size_t kNameBytes = 100;
constexpr std::size_t kModeAt = 100;
constexpr std::size_t kUserAt = 108;
constexpr std::size_t kGroupAt = 116;
constexpr std::size_t kSizeAt = 124;
constexpr std::size_t kTimeAt = 136;
constexpr std::size_t kChecksumAt = 148;
constexpr std::size_t kTypeAt = 156;
constexpr std::size_t kMagicAt = 257;
constexpr std::size_t kPrefixAt = 345;
constexpr std::size_t kPrefixBytes = 155;
constexpr std::string_view kPosix("ustar\0", 6);
constexpr std::size_t kShort = 7;  // digits
constexpr std::size_t kLong = 11;

/// Returns the sum of all bytes, with the checksum field taken as spaces.
std::uint32_t tar_checksum(std::string block) {
  block.replace(kChecksumAt, kShort + 1, kShort + 1, ' ');
  std::uint32_t sum = 0;
  for (const char each : block) { sum += static_cast<unsigned char>(each); }
  return sum;
}

/// Returns true if the whole text is a number.
bool read_number(std::string_view text, int base, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc() && end == text.data() + text.size();
}

/// Reads digits after spaces, up to a space or a zero byte.
bool read_octal(std::string_view block, std::size_t at, std::size_t digits, std::uint64_t& value) {
  std::string_view text = block.substr(at, digits + 1);
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return read_number(text.substr(0, text.find_first_of(std::string_view(" \0", 2))), 8, value);
}

/// Reads "1700000000.123456789", in ns.
bool read_time(std::string_view text, std::int64_t& ns) {
  const std::size_t point = std::min(text.find('.'), text.size());
  std::string parts(text.substr(std::min(point + 1, text.size())));
  parts.resize(9, '0');
  std::uint64_t value = 0;
  if (!read_number(std::string(text.substr(0, point)) + parts, 10, value)) { return false; }
  ns = static_cast<std::int64_t>(value);
  return ns >= 0;
}

/// Returns the text up to its first zero byte.
std::string up_to_zero(std::string_view text) { return std::string(text.substr(0, text.find('\0'))); }

void put_octal(std::string& block, std::size_t at, std::size_t digits, std::uint64_t value) {
  block.replace(at, digits, detail::format("{:0{}o}", value, digits));
}

/// Returns "<length> <key>=<value>\n"; the length includes its own digits.
std::string pax_record(std::string_view key, std::string_view value) {
  const std::size_t rest = key.size() + value.size() + 3;
  std::size_t length = rest + 1;
  while (length != rest + std::to_string(length).size()) { length = rest + std::to_string(length).size(); }
  return detail::format("{} {}={}\n", length, key, value);
}

/// Returns one block, with the start of a long path.
std::string header_block(std::string_view path, char type, std::uint64_t bytes, std::uint64_t seconds) {
  constexpr std::uint64_t kMaxOctal = (std::uint64_t{1} << 33U) - 1;
  std::string block(path.substr(0, kNameBytes));
  block.resize(kTarBlock);
  put_octal(block, kModeAt, kShort, type == TarEntry::kDirectory ? 0700 : 0600);
  put_octal(block, kUserAt, kShort, 0);
  put_octal(block, kGroupAt, kShort, 0);
  put_octal(block, kSizeAt, kLong, bytes);
  put_octal(block, kTimeAt, kLong, std::min(seconds, kMaxOctal));
  block[kTypeAt] = type;
  block.replace(kMagicAt, 8, std::string(kPosix) + "00");
  block.replace(kChecksumAt, 8, detail::format("{:06o}", tar_checksum(block)) + std::string("\0 ", 2));
  return block;
}

}  // namespace

std::string tar_header(const TarEntry& entry) {
  const std::string path = entry.type == TarEntry::kDirectory ? entry.path + "/" : entry.path;
  const auto time = static_cast<std::uint64_t>(std::max<std::int64_t>(entry.changed_unix_ns, 0));
  const std::uint64_t seconds = time / kSecondNs;
  std::string records;
  if (path.size() > kNameBytes) { records += pax_record("path", path); }
  if (time % kSecondNs != 0) { records += pax_record("mtime", detail::format("{}.{:09}", seconds, time % kSecondNs)); }
  std::string header;
  if (!records.empty()) {
    header = header_block("takt-extension", TarEntry::kExtension, records.size(), seconds) + records;
    header.resize(tar_blocks(header.size()));
  }
  return header + header_block(path, entry.type, entry.bytes, seconds);
}

bool parse_tar_header(std::string_view block, TarEntry& entry) {
  std::uint64_t checksum = 0;
  std::uint64_t seconds = 0;
  const bool is_header = block.substr(kMagicAt, 5) == kPosix.substr(0, 5) &&
                         read_octal(block, kChecksumAt, kShort, checksum) &&
                         checksum == tar_checksum(std::string(block)) &&
                         read_octal(block, kSizeAt, kLong, entry.bytes) && read_octal(block, kTimeAt, kLong, seconds);
  if (!is_header) { return false; }
  const bool is_posix = block.substr(kMagicAt, kPosix.size()) == kPosix;  // GNU tar uses the prefix differently
  const std::string prefix = is_posix ? up_to_zero(block.substr(kPrefixAt, kPrefixBytes)) : "";
  entry.path = (prefix.empty() ? "" : prefix + "/") + up_to_zero(block.substr(0, kNameBytes));
  entry.type = block[kTypeAt] == '\0' || block[kTypeAt] == '7' ? TarEntry::kFile : block[kTypeAt];
  constexpr std::uint64_t kMaxSeconds = std::numeric_limits<std::int64_t>::max() / kSecondNs;
  entry.changed_unix_ns = static_cast<std::int64_t>(std::min(seconds, kMaxSeconds)) * kSecondNs;
  return true;
}

bool parse_tar_extension(std::string_view records, TarEntry& entry) {
  while (!records.empty()) {
    const std::size_t space = std::min(records.find(' '), records.size());
    std::uint64_t length = 0;
    if (!read_number(records.substr(0, space), 10, length) || length > records.size() || length < space + 2 ||
        records[length - 1] != '\n') {
      return false;
    }
    const std::string_view record = records.substr(space + 1, length - space - 2);
    const std::size_t sign = record.find('=');
    if (sign == std::string_view::npos) { return false; }
    const std::string_view value = record.substr(sign + 1);
    if (record.substr(0, sign) == "path") { entry.path = value; }
    if (record.substr(0, sign) == "mtime" && !read_time(value, entry.changed_unix_ns)) { return false; }
    records.remove_prefix(length);
  }
  return true;
}

}  // namespace detail
TAKT_END_NAMESPACE
