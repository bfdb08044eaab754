// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "wandb/wandb_log_reader.hpp"

#include "base/file.hpp"
#include "trackers/crc32.hpp"
#include "wandb/wandb_log.hpp"

#include <cerrno>
#include <string_view>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 18U;
constexpr std::size_t kLongestRecord = std::size_t{64} << 20U;

std::uint32_t number_at(const std::string& bytes, std::size_t at, unsigned size) {
  std::uint32_t number = 0;
  for (unsigned byte = 0; byte < size; ++byte) {
    number |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at + byte])) << (8 * byte);
  }
  return number;
}

}  // namespace

WandbLogReader::WandbLogReader(std::string path) : path_(std::move(path)) {
  source_ = [file = path_](std::uint64_t offset, std::size_t most, std::string& bytes) {
    return read_from(file, offset, most, bytes);
  };
}

/// Reads on until there are so many bytes behind begin_. False where the file has not as many, with errno 0, or cannot
/// be read.
bool WandbLogReader::has(std::size_t bytes) {
  while (bytes_.size() < bytes) {
    const std::size_t before = bytes_.size();
    errno = 0;
    if (!source_(begin_ + before, kReadBytes, bytes_)) { return false; }
    if (bytes_.size() == before) {
      errno = 0;
      return false;
    }
  }
  return true;
}

WandbLogReader::Found WandbLogReader::damaged(const char* what) {
  problem_ = path_ + " " + what;
  return Found::damage;
}

WandbLogReader::Found WandbLogReader::next(std::string& record) {
  record.clear();
  const auto less = [&] {
    if (errno == 0) { return Found::nothing; }
    problem_ = explain_fault("read", path_, errno);
    return Found::damage;
  };
  std::uint64_t at = position_;
  if (at == 0) {
    const std::string_view header = wandb_log_header();
    if (!has(header.size())) { return less(); }
    if (bytes_.compare(0, header.size(), header) != 0) { return damaged("is no log of W&B"); }
    at = header.size();
  }
  for (bool open = false, last = false; !last; open = true) {
    const std::size_t left = kWandbBlock - at % kWandbBlock;
    if (left < kWandbChunkHead) { at += left; }
    const std::size_t from = at - begin_;
    if (!has(from + kWandbChunkHead)) { return less(); }
    const std::size_t length = number_at(bytes_, from + 4, 2);
    const std::uint32_t kind = number_at(bytes_, from + 6, 1);
    if (length > kWandbBlock - kWandbChunkHead - at % kWandbBlock || kind < 1 || kind > 4 || open != (kind > 2)) {
      return damaged("is damaged: a record has no end");
    }
    if (!has(from + kWandbChunkHead + length)) { return less(); }
    const std::string_view chunk(bytes_.data() + from, kWandbChunkHead + length);
    if (number_at(bytes_, from, 4) != crc32(chunk.substr(6))) { return damaged("is damaged: a checksum is wrong"); }
    record += chunk.substr(kWandbChunkHead);
    if (record.size() > kLongestRecord) { return damaged("has a record that is too long"); }
    at += chunk.size();
    last = kind == 1 || kind == 4;
  }
  position_ = at;
  if (position_ - begin_ >= kReadBytes) {  // what was read goes
    const std::uint64_t next_begin = position_ - position_ % kWandbBlock;
    bytes_.erase(0, next_begin - begin_);
    begin_ = next_begin;
  }
  return Found::record;
}

}  // namespace detail
TAKT_END_NAMESPACE
