// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/journal_peek.hpp"

#include "journal/journal_format.hpp"
#include "journal/journal_records.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr std::size_t kPeekedBytes = std::size_t{16} << 10U;  // the run's frame comes first
constexpr std::size_t kLastBytes = std::size_t{4} << 10U;     // and the frame of the end last
constexpr std::size_t kMaxSegmentsPeeked = 4;                 // the last segment may be empty or damaged

std::vector<std::string> segment_names(const ReadableDirectory& files) {
  std::vector<std::pair<std::uint32_t, std::string>> numbered;
  for (const std::string& name : files.names()) {
    std::uint32_t number = 0;
    if (parse_segment_name(name, number)) { numbered.emplace_back(number, name); }
  }
  std::sort(numbered.begin(), numbered.end());
  std::vector<std::string> names;
  names.reserve(numbered.size());
  for (auto& [number, name] : numbered) { names.push_back(std::move(name)); }
  return names;
}

/// Passes complete frames in `bytes` to `see` until it returns true. Returns true if it did.
template <class See>
bool any_frame(std::string_view bytes, See see) {
  for (Frame frame; bytes.size() >= kFrameHeaderBytes;) {
    const bool is_frame = parse_frame(bytes, frame);
    if (is_frame && see(frame)) { return true; }
    bytes.remove_prefix(std::min(is_frame ? frame.bytes : kFrameAlignment, bytes.size()));
  }
  return false;
}

bool take_run(const Frame& frame, RunInfo& run) {
  if (frame.type != static_cast<std::uint16_t>(FrameType::run)) { return false; }
  RunInfo reported;
  Decoder decoder(frame.payload);
  visit(decoder, reported);
  if (decoder.ok()) { run = std::move(reported); }
  return decoder.ok();
}

/// Reads the start of a segment.
void peek_first_segment(const ReadableDirectory& files, const std::string& name, JournalPeek& peek) {
  std::string bytes;
  if (!files.read(name, 0, kPeekedBytes, bytes) || bytes.size() < kSegmentHeaderBytes) { return; }
  SegmentHeader header;
  const HeaderState state = parse_header(bytes, header);
  if (state == HeaderState::swapped || state == HeaderState::newer) { return; }
  if (state == HeaderState::good && peek.journal == 0) { peek.journal = header.journal; }
  const std::string_view frames = std::string_view(bytes).substr(kSegmentHeaderBytes);
  peek.has_run = peek.has_run || any_frame(frames, [&](const Frame& frame) { return take_run(frame, peek.run); });
}

bool says_that_it_ended(const ReadableDirectory& files, const std::string& name) {
  struct stat status = {};
  if (!files.look(name, status)) { return false; }
  const auto size = static_cast<std::uint64_t>(std::max<off_t>(status.st_size, 0));
  std::uint64_t begin = size - std::min<std::uint64_t>(size, kLastBytes);
  begin -= begin % kFrameAlignment;
  std::string bytes;
  return files.read(name, begin, 2 * kLastBytes, bytes) &&
         any_frame(bytes, [](const Frame& frame) { return frame.type == static_cast<std::uint16_t>(FrameType::end); });
}

}  // namespace

JournalPeek peek_journal(const ReadableDirectory& files) {
  JournalPeek peek;
  const std::vector<std::string> segments = segment_names(files);
  if (segments.empty()) { return peek; }
  peek.ended = says_that_it_ended(files, segments.back());
  const std::size_t max = std::min(segments.size(), kMaxSegmentsPeeked);
  for (std::size_t at = 0; at < max && !(peek.has_run && peek.journal != 0); ++at) {
    peek_first_segment(files, segments[segments.size() - 1 - at], peek);
  }
  return peek;
}

}  // namespace detail
TAKT_END_NAMESPACE
