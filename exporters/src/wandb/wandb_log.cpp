// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "wandb/wandb_log.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/json.hpp"
#include "trackers/protobuf.hpp"
#include "trackers/tracker_names.hpp"
#include "wandb/wandb_replay.hpp"

#include <cerrno>
#include <string_view>
#include <utility>

#include <unistd.h>

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
  return create(std::make_shared<DirectoryFiles>(directory_part(path)), name_part(path));
}

bool WandbLog::create(std::shared_ptr<const DirectoryFiles> directory, const std::string& name) {
  if (!GrowingFile::create(std::move(directory), name)) { return false; }
  append_bytes(wandb_log_header());
  return true;
}

void WandbLog::append(std::string_view record) {
  std::string bytes;
  append_wandb_record(bytes, written() + backlog(), record);
  append_bytes(bytes);
}

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
  source_ = [file = path_](std::uint64_t offset, std::size_t max, std::string& bytes) {
    return read_from(file, offset, max, bytes);
  };
}

/// Reads until `bytes` bytes after begin_ are available. Returns false if the file is shorter, with errno 0, or
/// unreadable.
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
    problem_ = explain_error("read", path_, errno);
    return Found::damage;
  };
  std::uint64_t at = position_;
  if (at == 0) {
    const std::string_view header = wandb_log_header();
    if (!has(header.size())) { return less(); }
    if (bytes_.compare(0, header.size(), header) != 0) { return damaged("is not a W&B log"); }
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
  if (position_ - begin_ >= kReadBytes) {  // drop bytes already read
    const std::uint64_t next_begin = position_ - position_ % kWandbBlock;
    bytes_.erase(0, next_begin - begin_);
    begin_ = next_begin;
  }
  return Found::record;
}

namespace {

/// Returns whether a config, as WandbConfig writes it, is that of `run`.
bool is_of_run(const std::string& config, const RunInfo& run) {
  const Json takt = Json::parse(config);
  const auto is_text = [&](const char* name, const std::string& text) {
    const Json member = takt.member(name);
    return member.is_text() && member.text() == valid_utf8(text);
  };
  const auto is_number = [&](const char* name, int number) {
    const Json member = takt.member(name);
    return member.is_number() && member.number() == number;
  };
  return is_text("run_id", run.id) && is_text("host", run.host) && is_number("rank", run.rank) &&
         is_number("attempt", run.attempt);
}

std::string owner_error(const WandbLog& log, std::uint64_t bytes) {
  struct stat status = {};
  if (!log.look(status)) { return "it cannot be accessed"; }
  if (status.st_uid != ::geteuid()) { return "it belongs to another user"; }
  if (status.st_nlink != 1) { return "it also has another name (a hard link)"; }
  if (static_cast<std::uint64_t>(status.st_size) < bytes) {
    return detail::format("it has {} bytes, but had {} before", status.st_size, bytes);
  }
  return "";
}

}  // namespace

std::string wandb_old_log_error(const WandbLog& log, const std::string& path, const WandbCursor& cursor,
                                const RunInfo& run, const std::string& id, WandbOldLog& found) {
  if (std::string error = owner_error(log, cursor.bytes); !error.empty()) { return error; }
  WandbLogReader reader(
      path, [&](std::uint64_t offset, std::size_t max, std::string& bytes) { return log.read(offset, max, bytes); });
  WandbReplay replay;
  std::string record;
  std::int64_t records = 0;
  while (reader.position() < cursor.bytes) {
    const WandbLogReader::Found next = reader.next(record);
    if (next == WandbLogReader::Found::damage) { return reader.problem(); }
    if (next == WandbLogReader::Found::nothing) { break; }
    ++records;
    replay.take(record);
    const bool row = !replay.take_lines().empty();
    if (!replay.take_events().empty() || row) {
      found.rows_end = reader.position();
      found.rows_records = records;
    }
    found.summary.add({0, wandb_row_items(record)});
  }
  for (const char* const name : {kWandbFindings, kWandbLost, kWandbRanks}) {
    if (std::string json = replay.summary_value(name); json != "null") { found.notes[name] = std::move(json); }
  }
  if (reader.position() != cursor.bytes) {
    return detail::format("no record ends at byte {}, its former end", cursor.bytes);
  }
  if (replay.identity().id != id || !is_of_run(replay.config_value("takt"), run)) {
    return "it belongs to another run";
  }
  const auto rows = static_cast<std::int64_t>(replay.lines());
  if (records != cursor.records || rows != cursor.rows || replay.events() != cursor.events) {
    return detail::format("it has {} records, {} rows and {} system lines up to byte {}, but had {}, {} and {} before",
                          records, rows, replay.events(), cursor.bytes, cursor.records, cursor.rows, cursor.events);
  }
  return "";
}

}  // namespace detail
TAKT_END_NAMESPACE
