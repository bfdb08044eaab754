// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/recorded_time_line.hpp"

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "cli/results_file.hpp"
#include "report/trace.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <sys/stat.h>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

constexpr std::int64_t kLastNs = std::numeric_limits<std::int64_t>::max();

/// Parses microseconds with three decimals, as written by trace_microseconds(). A double cannot hold every nanosecond.
std::optional<std::int64_t> exact_ns(std::string_view text) {
  constexpr std::size_t kDecimals = 3;
  const std::size_t point = text.find('.');
  if (point == std::string_view::npos || text.size() - point - 1 != kDecimals) { return std::nullopt; }
  std::string digits(text.substr(0, point));
  digits += text.substr(point + 1);
  std::int64_t ns = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, ns);
  return error == std::errc() && stop == end ? std::optional<std::int64_t>(ns) : std::nullopt;
}

Kind kind_named(std::string_view name) {
  for (const Kind each : {Kind::compute, Kind::comm, Kind::io, Kind::wait}) {
    if (name == to_string(each)) { return each; }
  }
  return Kind::other;
}

/// Members of an event, with numbers as text.
struct EventMembers {
  void take(const detail::JsonStop& stop);

  std::optional<std::string> name;
  std::optional<std::string> given;  // name from its arguments
  std::string phase;
  std::string category;
  std::optional<std::int64_t> begin_ns;
  std::optional<std::int64_t> duration_ns;
  std::optional<std::int64_t> process;
  std::optional<std::int64_t> track;
  std::optional<std::int64_t> order;
};

void EventMembers::take(const detail::JsonStop& stop) {
  using Stop = detail::JsonStop::Kind;
  if (stop.kind == Stop::text) {
    if (stop.is("", "ph")) { phase = stop.text; }
    if (stop.is("", "cat")) { category = stop.text; }
    if (stop.is("", "name")) { name = stop.text; }
    if (stop.is("/args", "name")) { given = stop.text; }
  } else if (stop.kind == Stop::real) {
    if (stop.is("", "ts")) { begin_ns = exact_ns(stop.text); }
    if (stop.is("", "dur")) { duration_ns = exact_ns(stop.text); }
  } else if (stop.kind == Stop::integer && stop.integer != kLastNs) {  // kLastNs also represents later times
    if (stop.is("", "pid")) { process = stop.integer; }
    if (stop.is("", "tid")) { track = stop.integer; }
    if (stop.is("/args", "sort_index")) { order = stop.integer; }
  }
}

/// Returns true if there is a number that is valid for a track.
bool is_number(const std::optional<std::int64_t>& track) {
  return track && *track >= 0 && *track <= std::numeric_limits<std::uint32_t>::max();
}

bool take_slice(EventMembers& members, TraceEvent& event) {
  if (!members.name || !members.begin_ns || !members.duration_ns || !is_number(members.track)) { return false; }
  const std::int64_t begin = *members.begin_ns;
  const std::int64_t length = *members.duration_ns;
  if (length < 0 || (begin > 0 && length > kLastNs - begin)) { return false; }
  event.what = TraceEvent::What::slice;
  event.name = std::move(*members.name);
  event.kind = kind_named(members.category);
  event.begin_ns = begin;
  event.duration_ns = length;
  return true;
}

bool take_metadata(EventMembers& members, TraceEvent& event) {
  const bool is_process = members.name == "process_name";
  if (is_process || members.name == "thread_name") {
    event.what = is_process ? TraceEvent::What::process_name : TraceEvent::What::track_name;
    event.name = members.given.value_or("");
    return members.given && is_number(members.track);
  }
  if (members.name == "thread_sort_index") {
    if (!is_number(members.order) || !is_number(members.track)) { return false; }
    event.what = TraceEvent::What::track_order;
    event.order = static_cast<std::uint32_t>(*members.order);
  }
  return members.name.has_value();
}

}  // namespace

std::optional<TraceEvent> TraceEvent::parse(std::string_view line) {
  if (line.empty() || line.front() != '{') { return std::nullopt; }
  EventMembers members;
  const bool is_json = detail::walk_json(line, [&](const detail::JsonStop& stop) { members.take(stop); });
  if (!is_json || !members.process) { return std::nullopt; }
  TraceEvent event;
  event.process = *members.process;
  if (is_number(members.track)) { event.track = static_cast<std::uint32_t>(*members.track); }
  const bool is_good = members.phase == "X"   ? take_slice(members, event)
                       : members.phase == "M" ? take_metadata(members, event)
                                              : members.phase == "C";
  return is_good ? std::optional<TraceEvent>(std::move(event)) : std::nullopt;
}

namespace {

constexpr const char* kRecordedFile = "trace.json";
constexpr const char* kRecordedPart = "trace.json.part";
constexpr std::string_view kEndOfEvents = "\n],\"otherData\":";
constexpr std::string_view kEndOfFile = "}\n";
constexpr std::size_t kReadAtOnce = std::size_t{1} << 18U;
constexpr std::size_t kLongestLine = std::size_t{1} << 20U;  // names are far shorter
constexpr std::size_t kLongestEnd = std::size_t{1} << 20U;
constexpr std::size_t kMaxTracks = std::size_t{1} << 17U;  // a file may contain any number
constexpr std::size_t kKeptText = 1000;                    // as in JsonFields

/// Reads the lines of a part of a file, one at a time.
class LinesOfFile {
 public:
  LinesOfFile(const detail::ReadableDirectory& files, const std::string& name, std::uint64_t begin, std::uint64_t end)
      : files_(files), name_(name), offset_(begin), end_(end) {}

  /// Gets the next line, without its newline. Returns false at the end, or on an error, which why() describes.
  bool next(std::string& line) {
    line.clear();
    is_cut_ = false;
    while (at_ < buffer_.size() || fill()) {
      const std::size_t end = buffer_.find('\n', at_);
      const std::size_t stop = end == std::string::npos ? buffer_.size() : end;
      if (line.size() + (stop - at_) > kLongestLine) {
        why_ = detail::format("line {} is longer than 1 MiB", number_ + 1);
        return false;
      }
      line.append(buffer_, at_, stop - at_);
      at_ = stop + (end == std::string::npos ? 0 : 1);
      if (end != std::string::npos) {
        ++number_;
        return true;
      }
    }
    is_cut_ = true;
    ++number_;
    return why_.empty() && !line.empty();
  }

  bool is_cut() const noexcept { return is_cut_; }           // the last line has no newline
  std::uint64_t number() const noexcept { return number_; }  // number of the last line in the file
  const std::string& why() const noexcept { return why_; }

 private:
  bool fill() {
    buffer_.clear();
    at_ = 0;
    const auto max = static_cast<std::size_t>(std::min<std::uint64_t>(kReadAtOnce, end_ - offset_));
    if (max == 0) { return false; }
    if (!files_.read(name_, offset_, max, buffer_)) { why_ = std::system_category().message(errno); }
    if (why_.empty() && buffer_.empty()) { why_ = "it shrank while it was read"; }
    offset_ += buffer_.size();
    return !buffer_.empty();
  }

  const detail::ReadableDirectory& files_;
  const std::string& name_;
  std::uint64_t offset_;
  const std::uint64_t end_;
  std::string buffer_;
  std::size_t at_ = 0;
  std::uint64_t number_ = 1;  // the head counts as a line
  bool is_cut_ = false;
  std::string why_;
};

std::optional<TraceEvent> event_in(std::string_view line) {
  if (!line.empty() && line.back() == ',') { line.remove_suffix(1); }
  return TraceEvent::parse(line);
}

/// Returns the first event of the rank's exporter: names may have changed in JSON.
std::optional<TraceEvent> first_event(const RunInfo& run, std::int64_t process) {
  const std::string name = detail::format("{} rank {}", run.name, run.rank);
  return TraceEvent::parse(detail::trace_metadata("process_name", process, 0, {{"name", name}}));
}

bool is_same_text(const std::string& found, const std::string& text) {
  return detail::JsonText(found).text() == detail::JsonText(text.substr(0, kKeptText)).text();
}

}  // namespace

RecordedTimeLine::RecordedTimeLine(const RankDirectory& directory, const RunInfo& run)
    : files_(directory.open()), process_(run.pid != 0 ? run.pid : run.rank) {
  if (find()) { check(run); }
}

bool RecordedTimeLine::is_part() const noexcept { return file_ == kRecordedPart; }

void RecordedTimeLine::refuse(const std::string& why) {
  is_there_ = false;
  warnings_.clear();  // its contents no longer count
  refusal_ = detail::format("{} {}", detail::printable(files_->path(file_)), why);
}

void RecordedTimeLine::warning(const std::string& what) {
  warnings_.push_back(detail::format("{}: {}", detail::printable(files_->path(file_)), what));
}

/// Finds the file; the complete one is preferred.
bool RecordedTimeLine::find() {
  for (const char* const name : {kRecordedFile, kRecordedPart}) {
    struct stat status = {};
    if (!files_->look(name, status)) { continue; }
    file_ = name;
    if (S_ISREG(status.st_mode)) {
      end_ = static_cast<std::uint64_t>(std::max<off_t>(status.st_size, 0));
      return true;
    }
    refuse("is not a regular file");
    return false;
  }
  return false;
}

void RecordedTimeLine::check(const RunInfo& run) {
  std::string head;
  if (!files_->read(file_, 0, detail::kTraceHead.size(), head)) {
    refuse("cannot be read: " + std::system_category().message(errno));
    return;
  }
  // A process that was killed early has written less.
  if (is_part() && head.size() < detail::kTraceHead.size() && detail::kTraceHead.substr(0, head.size()) == head) {
    return;
  }
  if (head != detail::kTraceHead) {
    refuse("is not a time line of Takt");
    return;
  }
  if (!check_end(run)) { return; }
  LinesOfFile lines(*files_, file_, head.size(), end_);
  std::string line;
  if (!lines.next(line) && lines.why().empty()) { return; }  // the head only
  const std::optional<TraceEvent> found = event_in(line);
  const std::optional<TraceEvent> first = first_event(run, process_);
  if (!found && lines.is_cut()) { return; }
  is_there_ =
      found && first && found->what == first->what && found->process == first->process && found->name == first->name;
  if (!is_there_) { refuse("is not of this rank of the run"); }
}

/// Checks the data after the events: the owner of the file, and missing regions.
bool RecordedTimeLine::check_end(const RunInfo& run) {
  const std::uint64_t from = std::max<std::uint64_t>(end_, kLongestEnd) - kLongestEnd;
  std::string text;
  if (!files_->read(file_, from, kLongestEnd, text)) {
    refuse("cannot be read: " + std::system_category().message(errno));
    return false;
  }
  const std::size_t at = text.rfind(kEndOfEvents);
  const bool has_end = at != std::string::npos && text.size() >= at + kEndOfEvents.size() + kEndOfFile.size() &&
                       text.compare(text.size() - kEndOfFile.size(), kEndOfFile.size(), kEndOfFile) == 0;
  if (!has_end) {
    if (!is_part()) { warning("it has no end: the file is truncated"); }
    return true;
  }
  end_ = from + at + 1;
  std::string_view other(text);
  other.remove_suffix(kEndOfFile.size());
  const JsonFields fields = JsonFields::parse(other.substr(at + kEndOfEvents.size()));
  if (!is_same_text(fields.text("run_id"), run.id) || fields.time("rank") != run.rank ||
      fields.time("start_unix_ns") != run.start_unix_ns) {
    refuse("is not of this rank of the run");
    return false;
  }
  dropped_spans_ = fields.count("dropped_spans");
  if (dropped_spans_ != 0) {
    warning(
        detail::format("{} regions were dropped, as it was full (TAKT_TRACE_EVENTS)", detail::grouped(dropped_spans_)));
  }
  return true;
}

void RecordedTimeLine::read(const Take& take) {
  LinesOfFile lines(*files_, file_, detail::kTraceHead.size(), end_);
  std::string line;
  std::uint64_t first_damaged = 0;
  while (lines.next(line)) {
    const std::optional<TraceEvent> event = event_in(line);
    if (event && event->process == process_ && take_event(*event, take)) { continue; }
    if (lines.is_cut()) { break; }  // inside the latest write
    if (++damaged_lines_ == 1) { first_damaged = lines.number(); }
  }
  if (damaged_lines_ != 0) {
    warning(detail::format("{} of its lines {} no events of this rank and {} skipped; the first is line {}",
                           damaged_lines_, damaged_lines_ == 1 ? "is" : "are", damaged_lines_ == 1 ? "is" : "are",
                           first_damaged));
  }
  if (!lines.why().empty()) {
    warning("nothing after this line is read: line " + std::to_string(lines.number()) + ": " + lines.why());
  }
}

/// Returns false if there are too many tracks.
bool RecordedTimeLine::take_event(const TraceEvent& event, const Take& take) {
  switch (event.what) {
    case TraceEvent::What::slice:
      if (!go_as_far(event.track, event.begin_ns + event.duration_ns)) { return false; }
      ++slices_;
      break;
    case TraceEvent::What::track_order:
      if (thread_of_.size() == kMaxTracks && thread_of_.count(event.track) == 0) { return false; }
      thread_of_[event.track] = event.order;
      break;
    case TraceEvent::What::track_name:
      break;
    default:
      return true;
  }
  take(event);
  return true;
}

bool RecordedTimeLine::go_as_far(std::uint32_t track, std::int64_t end_ns) {
  const auto known = thread_of_.find(track);
  const std::uint32_t thread = known == thread_of_.end() ? track : known->second;
  if (last_end_.size() == kMaxTracks && last_end_.count(thread) == 0) { return false; }
  const auto [place, is_new] = last_end_.emplace(thread, end_ns);
  place->second = std::max(place->second, end_ns);
  return true;
}

bool RecordedTimeLine::covers(std::uint32_t thread_id, std::int64_t end_ns) const {
  const auto found = last_end_.find(thread_id);
  return found != last_end_.end() && end_ns <= found->second;
}

}  // namespace cli
TAKT_END_NAMESPACE
