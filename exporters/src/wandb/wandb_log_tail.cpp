// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "wandb/wandb_log_tail.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

// Of a request: less than the 10 MiB that the server takes, a row of 4 MiB included.
constexpr std::size_t kMostLineBytes = std::size_t{2} << 20U;

/// `lines`, the last of `count` ones, without those before `known`. Returns the number of the first that is left.
std::uint64_t pass_over(std::uint64_t known, std::uint64_t count, std::vector<std::string>& lines) {
  const std::uint64_t first = count - lines.size();
  const std::uint64_t passed = std::min<std::uint64_t>(known > first ? known - first : 0, lines.size());
  lines.erase(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(passed));
  return first + passed;
}

}  // namespace

WandbLogTail::WandbLogTail(std::string log, std::shared_ptr<const FolderFiles> folder)
    : log_(std::move(log)), folder_(std::move(folder)) {
  start({}, {});
}

void WandbLogTail::start(const WandbThere& there, const WandbBehind& behind) {
  reader_ = std::make_unique<WandbLogReader>(
      log_, [from = folder_, name = name_part(log_)](std::uint64_t offset, std::size_t most, std::string& bytes) {
        return from->read(name, offset, most, bytes);
      });
  replay_ = WandbReplay();
  if (behind.resumed) { replay_.go_on_behind(there, behind); }
}

bool WandbLogTail::read(WandbStream& stream, std::uint64_t known_lines, std::uint64_t known_events) {
  while (stream.lines.empty() && stream.events.empty() && !replay_.exit_code().has_value()) {
    WandbLogReader::Found found = WandbLogReader::Found::record;
    std::string record;
    while (replay_.line_bytes() < kMostLineBytes && found == WandbLogReader::Found::record) {
      found = reader_->next(record);
      if (found == WandbLogReader::Found::record) { replay_.take(record); }
      if (replay_.exit_code().has_value()) { found = WandbLogReader::Found::nothing; }
    }
    if (found == WandbLogReader::Found::damage) { return false; }
    stream.lines = replay_.take_lines();
    stream.offset = pass_over(known_lines, replay_.lines(), stream.lines);
    stream.events = replay_.take_events();
    stream.events_offset = pass_over(known_events, replay_.events(), stream.events);
    if (found != WandbLogReader::Found::record) { break; }
  }
  return true;
}

}  // namespace detail
TAKT_END_NAMESPACE
