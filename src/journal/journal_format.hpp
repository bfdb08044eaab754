// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include "base/encoding.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// Format "takt-journal/2", described in docs/journal.md: headers of segment files and frames. All values are
// little-endian. base/encoding.hpp encodes values in a frame, and journal_records.hpp has the contents of frames.

TAKT_BEGIN_NAMESPACE
namespace detail {

constexpr std::uint32_t kJournalVersion = 2;
constexpr std::size_t kSegmentHeaderBytes = 64;
constexpr std::size_t kFrameHeaderBytes = 24;
constexpr std::size_t kFrameAlignment = 8;

/// Frame types. Numbers are never reused; readers skip unknown types.
enum class FrameType : std::uint16_t {
  run = 1,
  clock = 2,
  path = 3,
  thread = 4,
  series = 5,
  param = 6,
  tag = 7,
  totals = 8,
  losses = 9,
  open = 10,
  row = 11,
  metric = 12,
  gap = 13,
  period = 14,
  end = 15,
  devices = 16,
  early = 17,
  amendment = 18,
  time_lines = 19,
  rows = 20,
  metrics = 21,
  groups = 22,
  exception = 23,
  sensors = 24,
  sampled = 25,
  samples = 26,
  clock_readings = 27,
  machine = 28,
  region_memories = 31,
};

struct SegmentHeader {
  std::uint32_t version = kJournalVersion;
  std::uint32_t number = 0;          ///< number of the segment
  std::uint64_t journal = 0;         ///< random; the same in all segments of a journal
  std::int64_t start_unix_ns = 0;    ///< start time of the run
  std::uint64_t first_sequence = 0;  ///< sequence number of the first frame
};

enum class HeaderState {
  good,
  damaged,  ///< not a header, or changed after writing; frames may still follow
  swapped,  ///< written with the other byte order
  newer,    ///< of a version unknown to this reader
};

void append_header(std::string& out, const SegmentHeader& header);
/// Parses a header.
/// \param bytes at least kSegmentHeaderBytes.
TAKT_EXPORT HeaderState parse_header(std::string_view bytes, SegmentHeader& header) noexcept;

/// Returns for example "journal-00007.tjl".
TAKT_EXPORT std::string segment_name(std::uint32_t number);
/// Returns false if `name` is not a segment name.
TAKT_EXPORT bool parse_segment_name(std::string_view name, std::uint32_t& number) noexcept;

/// A frame in a file.
struct Frame {
  std::uint16_t type = 0;
  std::uint64_t sequence = 0;
  std::string_view payload;
  std::size_t bytes = 0;  ///< size including header and padding
};

/// Returns the length that the frame header at the start of `bytes` claims; 0 if it is not one.
TAKT_EXPORT std::size_t frame_bytes(std::string_view bytes) noexcept;

/// Parses the frame at the start of `bytes`. Returns false unless it is complete and undamaged.
TAKT_EXPORT bool parse_frame(std::string_view bytes, Frame& frame) noexcept;

/// Consecutive frames, as written to a file.
class FrameBuffer {
 public:
  /// \param sequence number of the first frame.
  explicit FrameBuffer(std::uint64_t sequence) noexcept : sequence_(sequence) {}

  void add_header(const SegmentHeader& header) { append_header(bytes_, header); }
  template <class Record>
  void add(FrameType type, const Record& record) {
    const std::size_t start = bytes_.size();
    bytes_.resize(start + kFrameHeaderBytes);
    Encoder encoder(bytes_);
    visit(encoder, record);
    close_frame(start, static_cast<std::uint16_t>(type));
  }
  /// Adds a frame of any type, for tests.
  void add_raw(std::uint16_t type, std::string_view payload);

  std::uint64_t next_sequence() const noexcept { return sequence_; }
  const std::string& bytes() const noexcept { return bytes_; }

 private:
  void close_frame(std::size_t start, std::uint16_t type);

  std::uint64_t sequence_;
  std::string bytes_;
};

}  // namespace detail
TAKT_END_NAMESPACE
