// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "archive/tar_reader.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/text.hpp"

#include <algorithm>

#include <sys/stat.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
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
