// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "journal/journal_reader.hpp"

#include "base/directory_files.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

// Maximum bytes searched, as a multiple of the bytes read. Lengths claimed by damaged frames may overlap, and each
// range is read completely. Accidental corruption stays below 1; more means that the file was crafted to keep readers
// busy.
constexpr std::uint64_t kMaxSearched = 8;
constexpr std::size_t kPartBytes = std::size_t{1} << 20U;
constexpr std::size_t kAllBytes = std::size_t{16} << 20U;  // size of most segments
// Longest valid frame. Writers end a segment at 8 MiB and write no frame close to this; a longer one would only exhaust
// memory or time.
constexpr std::size_t kLongestFrame = std::size_t{32} << 20U;
constexpr std::uint64_t kMaxSegment = std::uint64_t{1} << 30U;

std::string why_unread(int error) {
  return error == ELOOP   ? "is a symbolic link, which is not followed"
         : error == ENXIO ? "is not a file"
                          : "cannot be read: " + std::system_category().message(error);
}

}  // namespace

JournalReader::JournalReader(const std::string& directory) : directory_(std::make_shared<DirectoryFiles>(directory)) {}

JournalReader::JournalReader(std::shared_ptr<const ReadableDirectory> directory) : directory_(std::move(directory)) {}

bool JournalReader::read(Snapshot& snapshot) { return read_on(snapshot, false, Much::all); }

bool JournalReader::read_part(Snapshot& snapshot) { return read_on(snapshot, false, Much::part); }

bool JournalReader::finish(Snapshot& snapshot) { return read_on(snapshot, true, Much::all); }

bool JournalReader::release_early(Snapshot& snapshot) {
  const bool any = state_.release_early();
  if (any) { state_.move_into(snapshot); }
  return any;
}

bool JournalReader::read_on(Snapshot& snapshot, bool closed, Much much) {
  news_ = false;
  // Lists segments before reading: a segment with a successor in the list is no longer written.
  const std::vector<std::uint32_t> segments = segments_left();
  for (std::size_t at = 0; at < segments.size(); ++at) {
    if (!has_segment_ || segments[at] != segment_) {
      has_segment_ = true;
      segment_ = segments[at];
      offset_ = 0;
      given_up_ = false;
    }
    const bool has_successor = closed || at + 1 < segments.size();
    const std::size_t max = much == Much::all ? kAllBytes : kPartBytes;
    bool at_end = false;
    while (!at_end && !(news_ && much == Much::part)) { at_end = read_file(has_successor, max); }
    if (!at_end) { break; }
  }
  if (news_) { state_.move_into(snapshot); }
  return news_;
}

std::string JournalReader::path() const { return directory_->path(segment_name(segment_)); }

/// Lists segments, starting with the current one.
std::vector<std::uint32_t> JournalReader::segments_left() const {
  std::vector<std::uint32_t> numbers;
  for (const std::string& name : directory_->names()) {
    std::uint32_t number = 0;
    if (!parse_segment_name(name, number)) { continue; }
    if (!has_segment_ || number >= segment_) { numbers.push_back(number); }
  }
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

/// Reads at most `max` bytes, or more if one frame is longer. Returns true at the end of the file.
bool JournalReader::read_file(bool closed, std::size_t max) {
  if (given_up_) { return true; }
  if (offset_ >= kMaxSegment) {
    give_up("is longer than any valid journal file; the rest of it is skipped");
    return true;
  }
  std::string bytes;
  if (!directory_->read(segment_name(segment_), offset_, max, bytes)) {
    // An unreadable file differs from one that does not exist yet.
    if (closed || errno == EACCES || errno == ELOOP || errno == ENXIO) { give_up(why_unread(errno)); }
    return true;
  }
  const bool at_end = bytes.size() < max;
  std::string_view left = bytes;
  if (offset_ == 0) {
    const std::size_t head = take_header(left, closed);
    if (head == 0) { return true; }
    left.remove_prefix(head);
    offset_ += head;
  }
  std::size_t done = take_frames(left, closed && at_end);
  if (done == 0 && !at_end && left.size() > 2 * kLongestFrame) {  // a valid frame would have ended by now
    done = left.size() - kLongestFrame;
    done -= done % kFrameAlignment;
    damage_.damaged_bytes += done;
  }
  offset_ += done;
  bytes = std::string();
  return at_end || (done == 0 && read_file(closed, 2 * max));
}

std::size_t JournalReader::take_header(std::string_view bytes, bool closed) {
  if (bytes.size() < kSegmentHeaderBytes) {
    if (!closed) { return 0; }
    damage_.torn_tail_bytes += bytes.size();
    return bytes.size();
  }
  SegmentHeader header;
  const HeaderState state = parse_header(bytes, header);
  if (state == HeaderState::swapped || state == HeaderState::newer) {
    give_up(state == HeaderState::newer ? "has a newer format than this version reads; read it with a newer Takt"
                                        : "was written on a machine with another byte order");
    return 0;
  }
  if (state == HeaderState::damaged) {
    // Frames are independent: only the header is skipped.
    damage_.damaged_bytes += kSegmentHeaderBytes;
    return kSegmentHeaderBytes;
  }
  if (has_journal_ && journal_ != header.journal) {
    state_.clear();
    expected_ = 0;
  }
  has_journal_ = true;
  journal_ = header.journal;
  return kSegmentHeaderBytes;
}

/// Returns the position of the first frame at or after `at`, or the end. Adds the bytes examined to `searched`.
std::size_t JournalReader::find_frame(std::string_view bytes, std::size_t at, std::uint64_t& searched, Frame& frame) {
  for (; at + kFrameHeaderBytes <= bytes.size(); at += kFrameAlignment) {
    const std::size_t claimed = frame_bytes(bytes.substr(at));
    if (claimed == 0) { continue; }
    checked_bytes_ += claimed;
    if (parse_frame(bytes.substr(at), frame)) { return at; }
    searched += claimed;
    if (searched > kMaxSearched * bytes.size()) { break; }
  }
  return bytes.size();
}

std::size_t JournalReader::take_frames(std::string_view bytes, bool closed) {
  std::size_t done = 0;
  std::uint64_t searched = 0;
  const std::uint64_t max = kMaxSearched * bytes.size();
  for (Frame frame; done < bytes.size();) {
    const std::size_t found = find_frame(bytes, done, searched, frame);
    if (searched > max) {
      error_ = path() + " was crafted to be searched endlessly; the rest of it is skipped";
      damage_.damaged_bytes += bytes.size() - done;
      return bytes.size();
    }
    if (found == bytes.size()) {
      // Cut off, or still being written.
      if (!closed) { return done; }
      damage_.torn_tail_bytes += found - done;
      return found;
    }
    damage_.damaged_bytes += found - done;
    seen_bytes_ += found + frame.bytes - done;
    take(frame);
    done = found + frame.bytes;
  }
  return done;
}

void JournalReader::take(const Frame& frame) {
  news_ = true;
  ++frames_;
  // After an export that was cut off, lower sequence numbers are repeated; the lost frames were never confirmed as
  // written.
  if (frame.sequence > expected_) { damage_.lost_frames += frame.sequence - expected_; }
  expected_ = frame.sequence + 1;
  const JournalState::Answer answer = state_.apply(frame, seen_bytes_);
  if (answer == JournalState::Answer::unknown) { ++damage_.unknown_frames; }
  if (answer == JournalState::Answer::unreadable) { ++damage_.unreadable_frames; }
}

void JournalReader::give_up(const std::string& why) {
  error_ = path() + " " + why;
  given_up_ = true;
}

}  // namespace detail
TAKT_END_NAMESPACE
