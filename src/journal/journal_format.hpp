// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/key.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

// Format "takt-journal/2", byte by byte in docs/journal.md: how a segment file begins, what a frame is, and how values are
// spelled in one. Everything is little-endian. What the frames say is in journal_records.hpp.

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
  exception = 23,
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
HeaderState parse_header(std::string_view bytes, SegmentHeader& header) noexcept;

/// "journal-00007.tjl".
std::string segment_name(std::uint32_t number);
/// False for the name of anything else.
bool parse_segment_name(std::string_view name, std::uint32_t& number) noexcept;

/// A frame as it stands in a file.
struct Frame {
  std::uint16_t type = 0;
  std::uint64_t sequence = 0;
  std::string_view payload;
  std::size_t bytes = 0;  ///< header and padding included
};

/// How long the frame is that may stand at the start of `bytes`, by what its header says; 0: none does.
std::size_t frame_bytes(std::string_view bytes) noexcept;

/// Whether a whole and undamaged frame stands at the start of `bytes`.
bool parse_frame(std::string_view bytes, Frame& frame) noexcept;

/// Spells values into a payload.
class Encoder {
 public:
  explicit Encoder(std::string& out) : out_(out) {}

  /// Unsigned: 7 bits a byte, lowest first, the top bit set where more follow. Signed: the same, with the sign lowest.
  template <class T>
  void number(T value) {
    static_assert(std::is_integral_v<T>);
    if constexpr (std::is_signed_v<T>) {
      const auto wide = static_cast<std::int64_t>(value);
      varint((static_cast<std::uint64_t>(wide) << 1U) ^ static_cast<std::uint64_t>(wide >> 63U));
    } else {
      varint(value);
    }
  }
  /// For values that came to a record later: older journals end before them.
  static constexpr bool more() noexcept { return true; }
  void real(double value);
  void text(std::string_view value);
  void kind(Kind value) { number(static_cast<std::uint32_t>(value)); }
  template <class T, class Visit>
  void list(const std::vector<T>& values, Visit visit) {
    number(values.size());
    for (const T& value : values) { visit(*this, value); }
  }

 private:
  void varint(std::uint64_t value);

  std::string& out_;
};

/// Reads what an Encoder spelled. Bytes may be anything: it never reads beyond them, and after the first value that is not
/// there, or does not fit, every further one fails too and nothing is changed.
class Decoder {
 public:
  explicit Decoder(std::string_view bytes) noexcept : left_(bytes) {}

  bool ok() const noexcept { return ok_; }
  bool more() const noexcept { return !left_.empty(); }

  template <class T>
  void number(T& value) noexcept {
    static_assert(std::is_integral_v<T>);
    const std::uint64_t raw = varint();
    if constexpr (std::is_signed_v<T>) {
      const auto wide = static_cast<std::int64_t>((raw >> 1U) ^ (~(raw & 1U) + 1));
      ok_ = ok_ && wide >= std::numeric_limits<T>::min() && wide <= std::numeric_limits<T>::max();
      if (ok_) { value = static_cast<T>(wide); }
    } else {
      ok_ = ok_ && raw <= std::numeric_limits<T>::max();
      if (ok_) { value = static_cast<T>(raw); }
    }
  }
  void real(double& value) noexcept;
  void text(std::string& value);
  void kind(Kind& value) noexcept;
  template <class T, class Visit>
  void list(std::vector<T>& values, Visit visit) {
    std::uint64_t count = 0;
    number(count);
    ok_ = ok_ && count <= left_.size();  // each takes a byte or more
    for (std::uint64_t at = 0; ok_ && at < count; ++at) {
      values.emplace_back();
      visit(*this, values.back());
    }
  }

 private:
  std::uint64_t varint() noexcept;

  std::string_view left_;
  bool ok_ = true;
};

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
