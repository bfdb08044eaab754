// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "wandb/wandb_cursor.hpp"

#include "base/json.hpp"
#include "base/json_text.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr const char* kSchema = "takt-wandb/1";

/// Reads a cursor's members. Anybody may have written them: once one is missing or of another kind, nothing counts.
class CursorMembers {
 public:
  explicit CursorMembers(Json object) : object_(std::move(object)), whole_(object_.is_object()) {}

  bool whole() const noexcept { return whole_; }
  void get(const char* name, std::string& to) { to = wanted(name, &Json::is_text).text(); }
  void get(const char* name, bool& to) { to = wanted(name, &Json::is_boolean).boolean(); }
  void get(const char* name, std::uint64_t& to) { to = wanted(name, &Json::is_count).count(); }
  void get(const char* name, std::int64_t& to) { to = wanted(name, &Json::is_integer).integer(); }
  /// What older ones did not know is 0 there.
  template <class Value>
  void get_known(const char* name, Value& to) {
    to = Value();
    if (object_.has(name)) { get(name, to); }
  }
  /// Of those of older ones, which knew fewer sources, the rest is 0.
  void get(const char* name, std::array<std::uint64_t, 4>& to) {
    const Json list = wanted(name, &Json::is_array);
    for (std::size_t at = 0; at < std::min(list.size(), to.size()); ++at) {
      whole_ = whole_ && list.element(at).is_count();
      to[at] = list.element(at).count();
    }
  }
  void get(const char* name, WandbBehind& to) {
    CursorMembers behind(object_.member(name));
    behind.get("resumed", to.resumed);
    behind.get("lines", to.lines);
    behind.get_known("events", to.events);
    behind.get("step", to.step);
    behind.get("runtime_s", to.runtime_s);
    behind.get_known("newer", to.newer);
    whole_ = whole_ && behind.whole();
  }

 private:
  Json wanted(const char* name, bool (Json::*is_kind)() const) {
    Json value = object_.member(name);
    whole_ = whole_ && (value.*is_kind)();
    return value;
  }

  Json object_;
  bool whole_;
};

}  // namespace

void forget_end(WandbCursor& cursor) {
  std::uint64_t& rows = cursor.points[static_cast<std::size_t>(MetricPoint::Source::row)];
  rows = std::min(rows, cursor.killed_rows);
  cursor.points[static_cast<std::size_t>(MetricPoint::Source::total)] = 0;
  cursor.job_ranks = 0;
  cursor.killed_bytes = cursor.killed_rows = 0;
}

std::string format_wandb_cursor(const WandbCursor& cursor) {
  const JsonText document = {
      {"schema", kSchema},
      {"log", cursor.log},
      {"id", cursor.id},
      {"bytes", cursor.bytes},
      {"records", cursor.records},
      {"rows", cursor.rows},
      {"events", cursor.events},
      {"start_unix_ns", cursor.start_unix_ns},
      {"every_step", cursor.every_step},
      {"first_row", cursor.first_row},
      {"first_metric", cursor.first_metric},
      {"first_sample", cursor.first_sample},
      {"points", cursor.points},
      {"job_ranks", cursor.job_ranks},
      {"gap", cursor.gap},
      {"ended", cursor.ended},
      {"server", cursor.server},
      {"run", cursor.run},
      {"lines", cursor.lines},
      {"sent_events", cursor.sent_events},
      {"behind",
       {{"resumed", cursor.behind.resumed},
        {"lines", cursor.behind.lines},
        {"events", cursor.behind.events},
        {"step", cursor.behind.step},
        {"runtime_s", cursor.behind.runtime_s},
        {"newer", cursor.behind.newer}}},
      {"complete", cursor.complete},
      {"killed_bytes", cursor.killed_bytes},
      {"killed_rows", cursor.killed_rows},
      {"resume", static_cast<int>(cursor.resume)},
  };
  return document.indented() + "\n";
}

bool parse_wandb_cursor(const std::string& text, WandbCursor& cursor) {
  CursorMembers document(Json::parse(text));
  std::string schema;
  document.get("schema", schema);
  document.get("log", cursor.log);
  document.get("bytes", cursor.bytes);
  document.get("records", cursor.records);
  document.get("rows", cursor.rows);
  document.get("start_unix_ns", cursor.start_unix_ns);
  document.get("every_step", cursor.every_step);
  document.get("first_row", cursor.first_row);
  document.get("first_metric", cursor.first_metric);
  document.get("points", cursor.points);
  document.get_known("id", cursor.id);
  document.get_known("events", cursor.events);
  document.get_known("sent_events", cursor.sent_events);
  document.get_known("first_sample", cursor.first_sample);
  document.get_known("job_ranks", cursor.job_ranks);
  document.get("gap", cursor.gap);
  document.get("ended", cursor.ended);
  document.get("server", cursor.server);
  document.get("run", cursor.run);
  document.get("lines", cursor.lines);
  document.get_known("behind", cursor.behind);  // older ones overwrote what was there before
  document.get("complete", cursor.complete);
  document.get_known("killed_bytes", cursor.killed_bytes);
  document.get_known("killed_rows", cursor.killed_rows);
  std::int64_t resume = 0;
  document.get_known("resume", resume);
  if (!document.whole() || schema != kSchema) { return false; }
  if (resume < 0 || resume > static_cast<std::int64_t>(WandbResume::never)) { return false; }
  cursor.resume = static_cast<WandbResume>(resume);
  return true;
}

}  // namespace detail
TAKT_END_NAMESPACE
