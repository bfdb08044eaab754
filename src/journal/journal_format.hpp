// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include "base/encoding.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// Format "takt-journal/2", byte by byte in docs/journal.md: how a segment file begins, and what a frame is. Everything
// is little-endian. How values are spelled in a frame is in base/encoding.hpp, and what the frames say in
// journal_records.hpp.

TAKT_BEGIN_NAMESPACE
namespace detail {

constexpr std::uint32_t kJournalVersion = 2;
constexpr std::size_t kSegmentHeaderBytes = 64;
constexpr std::size_t kFrameHeaderBytes = 24;
constexpr std::size_t kFrameAlignment = 8;

/// Numbers are never given to another type; a reader passes over those that it does not know.
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
};

struct SegmentHeader {
  std::uint32_t version = kJournalVersion;
  std::uint32_t number = 0;          ///< of the segment
  std::uint64_t journal = 0;         ///< random, the same in all segments of one journal
  std::int64_t start_unix_ns = 0;    ///< of the run
  std::uint64_t first_sequence = 0;  ///< of the first frame
};

enum class HeaderState {
  good,
  damaged,  ///< not a header, or not what was written; frames may follow all the same
  swapped,  ///< written with another byte order
  newer,    ///< of a version that this reader does not know
};

void append_header(std::string& out, const SegmentHeader& header);
/// \param bytes at least kSegmentHeaderBytes.
TAKT_EXPORT HeaderState parse_header(std::string_view bytes, SegmentHeader& header) noexcept;

/// "journal-00007.tjl".
TAKT_EXPORT std::string segment_name(std::uint32_t number);
/// False for the name of anything else.
TAKT_EXPORT bool parse_segment_name(std::string_view name, std::uint32_t& number) noexcept;

/// A frame as it stands in a file.
struct Frame {
  std::uint16_t type = 0;
  std::uint64_t sequence = 0;
  std::string_view payload;
  std::size_t bytes = 0;  ///< header and padding included
};

/// How long the frame is that may stand at the start of `bytes`, by what its header says; 0: none does.
TAKT_EXPORT std::size_t frame_bytes(std::string_view bytes) noexcept;

/// Whether a whole and undamaged frame stands at the start of `bytes`.
TAKT_EXPORT bool parse_frame(std::string_view bytes, Frame& frame) noexcept;

/// Frames one behind the other, as they go to a file.
class FrameBuffer {
 public:
  /// \param sequence of the first frame.
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
  /// A frame of any type, for tests.
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
