// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/tar.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include <sys/stat.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// A field of the header: where it stands, and how long it is.
struct TarField {
  std::size_t at;
  std::size_t size;

  std::string_view of(std::string_view block) const { return block.substr(at, size); }
  /// Up to the first zero byte.
  std::string text(std::string_view block) const { return std::string(of(block).substr(0, of(block).find('\0'))); }
  void put(std::string& block, std::string_view text) const { block.replace(at, text.size(), text); }
  void put_octal(std::string& block, std::uint64_t value) const {
    put(block, detail::format("{:0{}o}", value, size - 1));
  }
};

constexpr TarField kName{0, 100};
constexpr TarField kMode{100, 8};
constexpr TarField kUser{108, 8};
constexpr TarField kGroup{116, 8};
constexpr TarField kSize{124, 12};
constexpr TarField kTime{136, 12};
constexpr TarField kChecksum{148, 8};
constexpr TarField kType{156, 1};
constexpr TarField kMagic{257, 6};
constexpr TarField kVersion{263, 2};
constexpr TarField kPrefix{345, 155};

constexpr std::string_view kPosix("ustar\0", 6);
constexpr char kExtension = 'x';
constexpr char kDefaults = 'g';
constexpr char kFolder = '5';
constexpr std::uint64_t kMostOctal = (std::uint64_t{1} << 33U) - 1;  // eleven digits

/// Of all bytes, those of the checksum itself taken as spaces.
std::uint32_t tar_checksum(std::string_view block) {
  std::uint32_t sum = 0;
  for (std::size_t at = 0; at < block.size(); ++at) {
    const bool own = at >= kChecksum.at && at < kChecksum.at + kChecksum.size;
    sum += own ? std::uint32_t{' '} : static_cast<unsigned char>(block[at]);
  }
  return sum;
}

/// Digits behind spaces, up to a space or a zero byte. False for anything else.
bool read_octal(std::string_view text, std::uint64_t& value) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const std::string_view digits = text.substr(0, text.find_first_of(std::string_view(" \0", 2)));
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 8);
  return error == std::errc() && end == digits.data() + digits.size();
}

TarEntry::Kind kind_of(char type) {
  switch (type) {
    case '\0':
    case '0':
    case '7':
      return TarEntry::Kind::file;
    case kFolder:
      return TarEntry::Kind::folder;
    case kExtension:
      return TarEntry::Kind::extension;
    case kDefaults:
      return TarEntry::Kind::defaults;
    default:
      return TarEntry::Kind::other;
  }
}

/// Puts the path where it fits, in one part or in two. Returns whether it does.
bool put_path(std::string& block, std::string_view path) {
  if (path.size() <= kName.size) {
    kName.put(block, path);
    return true;
  }
  const std::size_t slash = path.find('/', path.size() - kName.size - 1);
  if (slash == std::string_view::npos || slash == 0 || slash > kPrefix.size) { return false; }
  kPrefix.put(block, path.substr(0, slash));
  kName.put(block, path.substr(slash + 1));
  return true;
}

/// "<length> <key>=<value>\n", of which the length counts its own digits.
std::string pax_record(std::string_view key, std::string_view value) {
  const std::size_t rest = key.size() + value.size() + 3;
  std::size_t length = rest + 1;
  while (length != rest + std::to_string(length).size()) { length = rest + std::to_string(length).size(); }
  return detail::format("{} {}={}\n", length, key, value);
}

/// One block. \param type as tar names it.
std::string header_block(std::string_view path, char type, std::uint64_t bytes, std::uint64_t seconds, unsigned mode) {
  std::string block(kTarBlock, '\0');
  put_path(block, path);
  kMode.put_octal(block, mode);
  kUser.put_octal(block, 0);
  kGroup.put_octal(block, 0);
  kSize.put_octal(block, bytes);
  kTime.put_octal(block, std::min(seconds, kMostOctal));
  kType.put(block, std::string_view(&type, 1));
  kMagic.put(block, kPosix);
  kVersion.put(block, "00");
  kChecksum.put(block, detail::format("{:06o}", tar_checksum(block)) + std::string("\0 ", 2));
  return block;
}

/// "1700000000.123456789", in ns.
bool read_time(std::string_view text, std::int64_t& ns) {
  const std::size_t point = std::min(text.find('.'), text.size());
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + point, seconds);
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / kSecondNs - 1;
  if (error != std::errc() || end != text.data() + point || seconds < 0 || seconds > kMost) { return false; }
  std::int64_t parts = 0;
  std::int64_t unit = kSecondNs / 10;
  for (const char digit : text.substr(std::min(point + 1, text.size()))) {
    if (digit < '0' || digit > '9') { return false; }
    parts += (digit - '0') * unit;
    unit /= 10;
  }
  ns = seconds * kSecondNs + parts;
  return true;
}

}  // namespace

std::string tar_header(const TarEntry& entry) {
  const bool is_folder = entry.kind == TarEntry::Kind::folder;
  const std::string path = is_folder ? entry.path + "/" : entry.path;
  const auto time = static_cast<std::uint64_t>(std::max<std::int64_t>(entry.changed_unix_ns, 0));
  const std::uint64_t seconds = time / kSecondNs;
  std::string scratch(kTarBlock, '\0');
  std::string records;
  if (!put_path(scratch, path)) { records += pax_record("path", path); }
  if (time % kSecondNs != 0) { records += pax_record("mtime", detail::format("{}.{:09}", seconds, time % kSecondNs)); }
  std::string header;
  if (!records.empty()) {
    header = header_block("takt-extension", kExtension, records.size(), seconds, 0600);
    header += records;
    header.resize(tar_blocks(header.size()));
  }
  // Of a long path whoever does not know the record gets the end.
  const std::string_view shown = std::string_view(path).substr(path.size() - std::min(path.size(), kName.size));
  const bool fits = records.find("path=") == std::string::npos;
  return header + header_block(fits ? std::string_view(path) : shown, is_folder ? kFolder : '0', entry.bytes, seconds,
                               is_folder ? 0700U : 0600U);
}

bool parse_tar_header(std::string_view block, TarEntry& entry) {
  std::uint64_t checksum = 0;
  std::uint64_t seconds = 0;
  const bool is_header = kMagic.of(block).substr(0, 5) == kPosix.substr(0, 5) &&
                         read_octal(kChecksum.of(block), checksum) && checksum == tar_checksum(block) &&
                         read_octal(kSize.of(block), entry.bytes) && read_octal(kTime.of(block), seconds);
  if (!is_header) { return false; }
  const std::string prefix = kMagic.of(block) == kPosix ? kPrefix.text(block) : "";
  entry.path = (prefix.empty() ? "" : prefix + "/") + kName.text(block);
  entry.kind = kind_of(kType.of(block).front());
  entry.changed_unix_ns = static_cast<std::int64_t>(std::min(seconds, kMostOctal)) * kSecondNs;
  return true;
}

bool parse_tar_extension(std::string_view records, TarEntry& entry) {
  while (!records.empty()) {
    std::size_t length = 0;
    const auto [end, error] = std::from_chars(records.data(), records.data() + records.size(), length);
    const auto digits = static_cast<std::size_t>(end - records.data());
    // A digit, a space, a key, an equals sign and a newline at least.
    if (error != std::errc() || length > records.size() || length < digits + 3 || records[digits] != ' ' ||
        records[length - 1] != '\n') {
      return false;
    }
    const std::string_view record = records.substr(digits + 1, length - digits - 2);
    const std::size_t sign = record.find('=');
    if (sign == std::string_view::npos) { return false; }
    const std::string_view value = record.substr(sign + 1);
    if (record.substr(0, sign) == "path") { entry.path = value; }
    if (record.substr(0, sign) == "mtime" && !read_time(value, entry.changed_unix_ns)) { return false; }
    records.remove_prefix(length);
  }
  return true;
}

namespace {

// A header, an extended one and its records, mostly.
constexpr std::size_t kAtOnce = 8 * kTarBlock;
// Of a path whose parts are as long as a file system lets them be, and a time.
constexpr std::uint64_t kLongestExtension = std::uint64_t{16} << 10U;

bool is_all_zero(std::string_view block) { return block.find_first_not_of('\0') == std::string_view::npos; }

}  // namespace

TarReader::TarReader(int descriptor) : descriptor_(descriptor) {
  struct stat status = {};
  if (::fstat(descriptor, &status) == 0) { file_bytes_ = static_cast<std::uint64_t>(status.st_size); }
}

/// Has block_ be the one there. False: the file ends before its end, or cannot be read.
bool TarReader::read_block(std::uint64_t at) {
  if (at < buffer_at_ || at + kTarBlock > buffer_at_ + buffer_.size()) {
    buffer_.clear();
    buffer_at_ = at;
    if (!read_at(descriptor_, at, kAtOnce, buffer_) || buffer_.size() < kTarBlock) { return false; }
  }
  block_ = std::string_view(buffer_).substr(at - buffer_at_, kTarBlock);
  return true;
}

bool TarReader::at_end() {
  if (read_block(at_)) { return is_all_zero(block_); }
  remarks_.add("it ends without the mark of its end: it is cut off");
  return true;
}

/// To the next header, or the end.
void TarReader::pass_over_damage() {
  const std::uint64_t begin = at_;
  TarEntry ignored;
  do { at_ += kTarBlock; } while (read_block(at_) && !is_all_zero(block_) && !parse_tar_header(block_, ignored));
  remarks_.add(detail::format("no entry begins at byte {}, where one should; {} bytes are passed over", begin,
                              std::min(at_, file_bytes_) - begin));
}

void TarReader::read_extension(const TarEntry& header) {
  extension_.clear();
  const bool read = header.bytes <= kLongestExtension &&
                    read_at(descriptor_, at_ + kTarBlock, static_cast<std::size_t>(header.bytes), extension_) &&
                    extension_.size() == header.bytes;
  if (read) { return; }
  remarks_.add(detail::format("what is said at byte {} of the next entry cannot be read", at_));
  extension_.clear();
}

/// Behind the header, and what it says there is.
void TarReader::step_over(TarEntry& entry) {
  const std::uint64_t begin = at_ + kTarBlock;
  const std::uint64_t left = file_bytes_ - std::min(begin, file_bytes_);
  if (entry.bytes > left) {
    remarks_.add(detail::format("{} is cut off: of {} bytes {} are there", fit_end(printable(entry.path), 120),
                                entry.bytes, left));
    entry.bytes = left;
  }
  at_ = begin + tar_blocks(entry.bytes);
}

bool TarReader::next(TarEntry& entry, std::uint64_t& begin) {
  while (!at_end()) {
    if (!parse_tar_header(block_, entry)) {
      pass_over_damage();
      continue;
    }
    begin = at_ + kTarBlock;
    if (entry.kind == TarEntry::Kind::extension) { read_extension(entry); }
    const bool is_entry = entry.kind == TarEntry::Kind::file || entry.kind == TarEntry::Kind::folder;
    if (is_entry && !parse_tar_extension(extension_, entry)) {
      remarks_.add(detail::format("what is said in front of byte {} of the next entry cannot be read", at_));
    }
    if (entry.kind == TarEntry::Kind::other) {
      remarks_.add(detail::format("{} is no file, but a link or a device; it is passed over",
                                  fit_end(printable(entry.path), 120)));
    }
    // These have no bytes, whatever they say.
    if (entry.kind == TarEntry::Kind::other || entry.kind == TarEntry::Kind::folder) { entry.bytes = 0; }
    if (entry.kind != TarEntry::Kind::extension) { extension_.clear(); }
    step_over(entry);
    if (is_entry) { return true; }
  }
  return false;
}

}  // namespace detail
TAKT_END_NAMESPACE
