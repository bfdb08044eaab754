// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "wandb_log.hpp"

#include "crc32.hpp"
#include "file.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
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
  return create(std::make_shared<FolderFiles>(folder_part(path)), name_part(path));
}

bool WandbLog::create(std::shared_ptr<const FolderFiles> folder, const std::string& name) {
  folder_ = std::move(folder);
  name_ = name;
  file_ = folder_->create(name_, O_RDWR);
  if (!file_.is_open()) { return false; }
  buffer_ = wandb_log_header();
  return true;
}

bool WandbLog::open(std::shared_ptr<const FolderFiles> folder, const std::string& name) {
  folder_ = std::move(folder);
  name_ = name;
  file_ = folder_->open(name_, O_RDWR);
  return file_.is_open();
}

bool WandbLog::read(std::uint64_t offset, std::size_t most, std::string& bytes) const {
  return read_at(file_.number(), offset, most, bytes);
}

bool WandbLog::go_on(std::uint64_t bytes) {
  const auto end = static_cast<off_t>(bytes);
  written_ = bytes;
  return ::ftruncate(file_.number(), end) == 0 && ::lseek(file_.number(), end, SEEK_SET) == end;
}

/// Has the file open, under another number where the program has taken that one.
bool WandbLog::hold() {
  if (file_.is_ours()) { return true; }
  errno = EBADF;
  if (!file_.is_open()) { return false; }
  report_closed_file(folder_->path(name_));
  Descriptor again = folder_->open(name_, O_RDWR);
  if (!again.is_open()) { return false; }
  const auto end = static_cast<off_t>(written_);
  if (!again.is_same(file_) || ::lseek(again.number(), end, SEEK_SET) != end) {
    errno = ENOENT;
    return false;
  }
  file_ = std::move(again);
  return true;
}

void WandbLog::append(std::string_view record) { append_wandb_record(buffer_, written_ + buffer_.size(), record); }

bool WandbLog::flush() {
  if (!buffer_.empty() && !hold()) { return false; }
  const std::size_t done = write_all(file_.number(), buffer_);
  const int why = errno;
  // What went out is not written again: the next flush goes on at the byte where this one stopped.
  buffer_.erase(0, done);
  written_ += done;
  errno = why;
  return buffer_.empty();
}

bool WandbLog::sync() {
  // Some file systems know no fsync.
  return (hold() && ::fsync(file_.number()) == 0) || errno == EINVAL || errno == ENOTSUP;
}

}  // namespace detail
TAKT_END_NAMESPACE
