// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "journal/journal_format.hpp"

#include "base/encoding.hpp"

#include <charconv>
#include <cstring>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr std::string_view kMagic = "TAKTJRNL";
constexpr std::string_view kPrefix = "journal-";
constexpr std::string_view kSuffix = ".tjl";
constexpr std::uint32_t kByteOrder = 0x01020304;
constexpr std::uint32_t kByteOrderSwapped = 0x04030201;
constexpr std::uint32_t kFrameMagic = 0x6D724674;  // "tFrm"
constexpr std::size_t kSegmentDigits = 5;

/// Offsets in a segment header.
enum HeaderField : std::size_t {
  kVersionAt = 8,
  kOrderAt = 12,
  kNumberAt = 16,
  kFlagsAt = 20,
  kJournalAt = 24,
  kStartAt = 32,
  kSequenceAt = 40,
  kHeaderCrcAt = 60
};
/// Offsets in a frame header.
enum FrameField : std::size_t { kMagicAt = 0, kLengthAt = 4, kCrcAt = 8, kTypeAt = 12, kFrameSequenceAt = 16 };

/// Returns the checksum of a frame: its length, and the bytes from the type to the end of the payload.
std::uint32_t checksum(const char* frame, std::size_t length) noexcept {
  const std::uint32_t started = crc32c({frame + kLengthAt, sizeof(std::uint32_t)});
  return crc32c({frame + kTypeAt, kFrameHeaderBytes - kTypeAt + length}, started);
}

std::size_t padded(std::size_t bytes) { return (bytes + kFrameAlignment - 1) / kFrameAlignment * kFrameAlignment; }

}  // namespace

void append_header(std::string& out, const SegmentHeader& header) {
  char bytes[kSegmentHeaderBytes] = {};
  std::memcpy(bytes, kMagic.data(), kMagic.size());
  store(bytes + kVersionAt, header.version);
  store(bytes + kOrderAt, kByteOrder);
  store(bytes + kNumberAt, header.number);
  store(bytes + kFlagsAt, std::uint32_t{0});
  store(bytes + kJournalAt, header.journal);
  store(bytes + kStartAt, static_cast<std::uint64_t>(header.start_unix_ns));
  store(bytes + kSequenceAt, header.first_sequence);
  store(bytes + kHeaderCrcAt, crc32c({bytes, kHeaderCrcAt}));
  out.append(bytes, sizeof bytes);
}

HeaderState parse_header(std::string_view bytes, SegmentHeader& header) noexcept {
  if (bytes.size() < kSegmentHeaderBytes || bytes.substr(0, kMagic.size()) != kMagic) { return HeaderState::damaged; }
  const char* const at = bytes.data();
  // Checked first: a header in the other byte order also has its checksum in that order.
  if (load<std::uint32_t>(at + kOrderAt) == kByteOrderSwapped) { return HeaderState::swapped; }
  if (load<std::uint32_t>(at + kHeaderCrcAt) != crc32c(bytes.substr(0, kHeaderCrcAt))) { return HeaderState::damaged; }
  header.version = load<std::uint32_t>(at + kVersionAt);
  if (header.version > kJournalVersion) { return HeaderState::newer; }
  header.number = load<std::uint32_t>(at + kNumberAt);
  header.journal = load<std::uint64_t>(at + kJournalAt);
  header.start_unix_ns = load<std::int64_t>(at + kStartAt);
  header.first_sequence = load<std::uint64_t>(at + kSequenceAt);
  return HeaderState::good;
}

std::string segment_name(std::uint32_t number) {
  std::string digits = std::to_string(number);
  if (digits.size() < kSegmentDigits) { digits.insert(0, kSegmentDigits - digits.size(), '0'); }
  return std::string(kPrefix).append(digits).append(kSuffix);
}

bool parse_segment_name(std::string_view name, std::uint32_t& number) noexcept {
  if (name.size() < kPrefix.size() + kSegmentDigits + kSuffix.size()) { return false; }
  if (name.substr(0, kPrefix.size()) != kPrefix || name.substr(name.size() - kSuffix.size()) != kSuffix) {
    return false;
  }
  const char* const end = name.data() + name.size() - kSuffix.size();
  const auto [stopped, error] = std::from_chars(name.data() + kPrefix.size(), end, number);
  return error == std::errc() && stopped == end;
}

std::size_t frame_bytes(std::string_view bytes) noexcept {
  if (bytes.size() < kFrameHeaderBytes || load<std::uint32_t>(bytes.data() + kMagicAt) != kFrameMagic) { return 0; }
  const std::size_t length = padded(load<std::uint32_t>(bytes.data() + kLengthAt));
  return length > bytes.size() - kFrameHeaderBytes ? 0 : kFrameHeaderBytes + length;
}

bool parse_frame(std::string_view bytes, Frame& frame) noexcept {
  frame.bytes = frame_bytes(bytes);
  if (frame.bytes == 0) { return false; }
  const std::size_t length = load<std::uint32_t>(bytes.data() + kLengthAt);
  if (load<std::uint32_t>(bytes.data() + kCrcAt) != checksum(bytes.data(), length)) { return false; }
  frame.type = load<std::uint16_t>(bytes.data() + kTypeAt);
  frame.sequence = load<std::uint64_t>(bytes.data() + kFrameSequenceAt);
  frame.payload = bytes.substr(kFrameHeaderBytes, length);
  return true;
}

void FrameBuffer::add_raw(std::uint16_t type, std::string_view payload) {
  const std::size_t start = bytes_.size();
  bytes_.resize(start + kFrameHeaderBytes);
  bytes_.append(payload);
  close_frame(start, type);
}

void FrameBuffer::close_frame(std::size_t start, std::uint16_t type) {
  const std::size_t length = bytes_.size() - start - kFrameHeaderBytes;
  bytes_.resize(start + kFrameHeaderBytes + padded(length));
  char* const frame = bytes_.data() + start;
  store(frame + kMagicAt, kFrameMagic);
  store(frame + kLengthAt, static_cast<std::uint32_t>(length));
  store(frame + kTypeAt, type);
  store(frame + kFrameSequenceAt, sequence_++);
  store(frame + kCrcAt, checksum(frame, length));
}

}  // namespace detail
TAKT_END_NAMESPACE
