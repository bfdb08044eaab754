// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "wandb_log.hpp"

#include "crc32.hpp"
#include "file.hpp"

#include <algorithm>
#include <cerrno>

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

WandbLog::~WandbLog() {
  if (descriptor_ >= 0) { ::close(descriptor_); }
}

bool WandbLog::create(const std::string& path) {
  descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kFileMode);
  if (descriptor_ < 0) { return false; }
  buffer_ = wandb_log_header();
  // The umask may have taken the owner's own bits away.
  return ::fchmod(descriptor_, kFileMode) == 0;
}

bool WandbLog::reopen(const std::string& path, std::uint64_t bytes) {
  descriptor_ = ::open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  struct stat status = {};
  if (descriptor_ < 0 || ::fstat(descriptor_, &status) != 0) { return false; }
  errno = EINVAL;
  if (!S_ISREG(status.st_mode) || status.st_size < static_cast<off_t>(bytes)) { return false; }
  const auto end = static_cast<off_t>(bytes);
  written_ = bytes;
  return ::ftruncate(descriptor_, end) == 0 && ::lseek(descriptor_, end, SEEK_SET) == end;
}

void WandbLog::append(std::string_view record) { append_wandb_record(buffer_, written_ + buffer_.size(), record); }

bool WandbLog::flush() {
  const std::size_t done = write_all(descriptor_, buffer_);
  const int why = errno;
  // What went out is not written again: the next flush goes on at the byte where this one stopped.
  buffer_.erase(0, done);
  written_ += done;
  errno = why;
  return buffer_.empty();
}

bool WandbLog::sync() {
  // Some file systems know no fsync.
  return ::fsync(descriptor_) == 0 || errno == EINVAL || errno == ENOTSUP;
}

}  // namespace detail
TAKT_END_NAMESPACE
