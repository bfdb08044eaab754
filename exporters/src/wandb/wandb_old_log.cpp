// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "wandb/wandb_old_log.hpp"

#include "base/format.hpp"
#include "base/json.hpp"
#include "trackers/tracker_names.hpp"
#include "wandb/wandb_log_reader.hpp"
#include "wandb/wandb_replay.hpp"

#include <utility>

#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// As WandbConfig writes it.
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

std::string owner_fault(const WandbLog& log, std::uint64_t bytes) {
  struct stat status = {};
  if (!log.look(status)) { return "it cannot be looked at"; }
  if (status.st_uid != ::geteuid()) { return "it belongs to another user"; }
  if (status.st_nlink != 1) { return "it is there under another name as well (a hard link)"; }
  if (static_cast<std::uint64_t>(status.st_size) < bytes) {
    return detail::format("it has {} bytes, and {} when it was left", status.st_size, bytes);
  }
  return "";
}

}  // namespace

std::string wandb_old_log_fault(const WandbLog& log, const std::string& path, const WandbCursor& cursor,
                                const RunInfo& run, const std::string& id, WandbOldLog& found) {
  if (std::string fault = owner_fault(log, cursor.bytes); !fault.empty()) { return fault; }
  WandbLogReader reader(
      path, [&](std::uint64_t offset, std::size_t most, std::string& bytes) { return log.read(offset, most, bytes); });
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
    return detail::format("no record ends at byte {}, where it was left", cursor.bytes);
  }
  if (replay.identity().id != id || !is_of_run(replay.config_value("takt"), run)) {
    return "it is that of another run";
  }
  const auto rows = static_cast<std::int64_t>(replay.lines());
  if (records != cursor.records || rows != cursor.rows || replay.events() != cursor.events) {
    return detail::format(
        "it has {} records, {} rows and {} lines on the system up to byte {}, and had {}, {} and {} when it was left",
        records, rows, replay.events(), cursor.bytes, cursor.records, cursor.rows, cursor.events);
  }
  return "";
}

}  // namespace detail
TAKT_END_NAMESPACE
