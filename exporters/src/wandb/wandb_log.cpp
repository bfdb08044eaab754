// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "wandb/wandb_log.hpp"

#include "trackers/crc32.hpp"

#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

enum Chunk : unsigned char { kFull = 1, kFirst, kMiddle, kLast };

void append_chunk(std::string& log, Chunk kind, std::string_view payload) {
  const char kind_byte = static_cast<char>(kind);
  const std::uint32_t crc = crc32(payload, crc32({&kind_byte, 1}));
  for (unsigned shift = 0; shift < 32; shift += 8) { log += static_cast<char>((crc >> shift) & 0xFFU); }
  log += static_cast<char>(payload.size() & 0xFFU);
  log += static_cast<char>(payload.size() >> 8U);
  log += kind_byte;
  log += payload;
}

}  // namespace

void append_wandb_record(std::string& log, std::uint64_t position, std::string_view record) {
  const std::uint64_t shift = position - log.size();
  for (bool first = true, last = false; !last; first = false) {
    std::size_t left = kWandbBlock - (shift + log.size()) % kWandbBlock;
    if (left < kWandbChunkHead) {
      log.append(left, '\0');
      left = kWandbBlock;
    }
    const std::string_view payload = record.substr(0, left - kWandbChunkHead);
    record.remove_prefix(payload.size());
    last = record.empty();
    append_chunk(log, first ? (last ? kFull : kFirst) : (last ? kLast : kMiddle), payload);
  }
}

std::string_view wandb_log_header() noexcept { return {":W&B\xE1\xBE\0", 7}; }

bool WandbLog::create(const std::string& path) {
  return create(std::make_shared<FolderFiles>(folder_part(path)), name_part(path));
}

bool WandbLog::create(std::shared_ptr<const FolderFiles> folder, const std::string& name) {
  if (!GrowingFile::create(std::move(folder), name)) { return false; }
  append_bytes(wandb_log_header());
  return true;
}

void WandbLog::append(std::string_view record) {
  std::string bytes;
  append_wandb_record(bytes, written() + backlog(), record);
  append_bytes(bytes);
}

}  // namespace detail
TAKT_END_NAMESPACE
