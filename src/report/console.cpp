// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "report/console.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/report_error.hpp"
#include "base/text.hpp"
#include "report/job_report.hpp"
#include "report/notes.hpp"
#include "report/results_report.hpp"
#include "report/text_table.hpp"

#include <takt/exporters/console.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <new>
#include <utility>
#include <vector>

#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace detail {

std::string title_of(const Snapshot& snapshot) {
  const RunInfo& run = snapshot.run;
  const char* state = snapshot.killed     ? "killed after"
                      : snapshot.failed   ? "failed after"
                      : snapshot.finished ? "took"
                                          : "so far";
  // A sum of ranks has no rank number.
  const std::string ranks = run.rank < 0 ? detail::format("{} ranks", run.world_size)
                                         : detail::format("rank {} of {}", run.rank, run.world_size);
  return detail::format("Takt: {}, run {}, {}, {} {}", printable(run.name), printable(run.id), ranks, state,
                        human_time(static_cast<double>(snapshot.wall_ns)));
}

std::vector<std::uint32_t> tree_order(const Snapshot& snapshot) {
  const auto paths = static_cast<std::uint32_t>(snapshot.paths.size());
  std::vector<std::vector<std::uint32_t>> children(paths + 1U);  // the last entry is for the run
  for (std::uint32_t path = paths; path-- > 0;) {
    children[std::min(snapshot.paths[path].parent, paths)].push_back(path);
  }
  std::vector<std::uint32_t> order;
  std::vector<std::uint32_t> waiting = children[paths];
  while (!waiting.empty()) {
    const std::uint32_t path = waiting.back();
    waiting.pop_back();
    order.push_back(path);
    waiting.insert(waiting.end(), children[path].begin(), children[path].end());
  }
  return order;
}

std::vector<std::string> finding_lines(const std::vector<Finding>& findings) {
  constexpr std::size_t kMax = 3;  // the complete list is printed elsewhere
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < std::min(findings.size(), kMax); ++at) {
    lines.push_back(printable(findings[at].sentence));
  }
  if (findings.size() > kMax) {
    const std::size_t more = findings.size() - kMax;
    lines.push_back(detail::format("{} more finding{}: takt report --json", more, more == 1 ? "" : "s"));
  }
  return lines;
}

std::vector<std::string> one_of_many_lines(const Snapshot& snapshot) {
  const RunInfo& run = snapshot.run;
  if (run.rank < 0 || run.world_size < 2) { return {}; }
  const std::size_t end = run.directory.find_last_of('/');
  const std::string directory = end == std::string::npos ? "" : run.directory.substr(0, end);
  struct stat status = {};
  const bool is_there = !directory.empty() && ::stat(directory.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
  const std::string all =
      is_there ? "; for all ranks: takt report " + printable(directory) : "";  // otherwise it is in a merged file
  return {detail::format("this is rank {} only{}", run.rank, all)};
}

bool reports(const std::vector<Finding>& findings, std::string_view what) {
  return std::any_of(findings.begin(), findings.end(), [what](const Finding& each) { return each.what == what; });
}

}  // namespace detail
namespace {

constexpr const char* kStreamHead = "stream span";
constexpr unsigned kDevicePriority = 2;

/// Formats a figure without warm-up; "-" if nothing else was measured.
std::string measured(const Summary& summary, double ns) {
  return summary.measured_n() == 0 ? "-" : detail::human_time(ns);
}
/// "-" if it is indistinguishable from the longest call.
std::string quantile(const Summary& summary, double q) {
  return has_percentile(summary, q) ? detail::human_ns(summary.percentile_ns(q)) : "-";
}

std::string first_of(const Summary& host) { return host.first_n() == 0 ? "-" : detail::human_ns(host.first_max_ns()); }

/// A region in the tree.
struct Place {
  const Snapshot& snapshot;
  const std::uint32_t index;
  const PathStats& path = snapshot.paths[index];
  const Summary& host = path.host;
  const Summary& device = path.device;
};

std::string share_of(const Place& at) {
  const std::optional<double> share = at.snapshot.share_of_parent(at.index);
  return share ? detail::percent(*share, 1) : "-";
}

struct Column {
  const char* head;
  unsigned priority;  ///< as in TextColumn
  /// For stream spans: hidden if there are none, and empty for paths without one.
  bool of_device;
  std::string (*cell)(const Place& at);
};

constexpr Column kTable[] = {
    {"n", 0, false, [](const Place& at) { return detail::human_count(at.host.n()); }},
    {"total", 0, false, [](const Place& at) { return detail::human_ns(at.snapshot.time_so_far_ns(at.index)); }},
    {"mean", 0, false, [](const Place& at) { return measured(at.host, at.host.mean_ns()); }},
    {"p50", 3, false, [](const Place& at) { return quantile(at.host, 0.50); }},
    {"p90", 8, false, [](const Place& at) { return quantile(at.host, 0.90); }},
    {"p99", 5, false, [](const Place& at) { return quantile(at.host, 0.99); }},
    {"max", 6, false, [](const Place& at) { return measured(at.host, static_cast<double>(at.host.max_ns())); }},
    {"self", 4, false, [](const Place& at) { return detail::human_ns(at.path.self_ns); }},
    {"share", 1, false, share_of},
    {"first", 7, false, [](const Place& at) { return first_of(at.host); }},
    {"total", kDevicePriority, true, [](const Place& at) { return detail::human_ns(at.device.total_ns()); }},
    {"mean", kDevicePriority, true, [](const Place& at) { return measured(at.device, at.device.mean_ns()); }},
};
constexpr unsigned kColumns = std::size(kTable);
constexpr unsigned kTotal = 1;  // the column that the run has, too

using detail::TextTable;

TextTable::Line line_of_run(const Snapshot& snapshot) {
  TextTable::Line line{"run", 0, std::vector<std::string>(kColumns)};
  line.cells[kTotal] = detail::human_time(static_cast<double>(snapshot.wall_ns));
  return line;
}

TextTable::Line line_of(const Place& at) {
  TextTable::Line line{detail::printable(at.path.name), at.path.depth, std::vector<std::string>(kColumns)};
  for (unsigned column = 0; column < kColumns; ++column) {
    if (kTable[column].of_device && at.device.n() == 0) { continue; }
    line.cells[column] = kTable[column].cell(at);
  }
  return line;
}

TextTable table_of(const Snapshot& snapshot, std::size_t width) {
  std::vector<TextTable::Line> lines = {line_of_run(snapshot)};
  for (const std::uint32_t path : detail::tree_order(snapshot)) { lines.push_back(line_of({snapshot, path})); }
  const auto has_device = [](const PathStats& path) { return path.device.n() != 0; };
  const bool device = std::any_of(snapshot.paths.begin(), snapshot.paths.end(), has_device);
  std::vector<detail::TextColumn> columns;
  for (const Column& each : kTable) { columns.push_back({each.head, each.priority, device || !each.of_device}); }
  return {columns, std::move(lines), width};
}

/// Returns the heading, with a line above the stream-span columns if these are shown.
std::vector<std::string> head_of(const TextTable& table) {
  if (!table.shows(kDevicePriority)) { return {table.head()}; }
  return {detail::format("{:>{}}", kStreamHead, table.width()), table.head()};
}

bool write_by_stdio(std::FILE* stream, const std::string& text) {
  return std::fwrite(text.data(), 1, text.size(), stream) == text.size() && std::fflush(stream) == 0;
}

/// Bypasses stdio for pipes and terminals: if they block, stdio would hold the stream's lock, which exit() needs.
/// Writes pieces that are sure to fit.
bool write_past_stdio(std::FILE* stream, const std::string& text) {
  pollfd ready = {::fileno(stream), POLLOUT, 0};
  const auto wait = [&ready] {
    int found = 0;
    do { found = ::poll(&ready, 1, detail::table_timeout.left_ms(-1)); } while (found < 0 && errno == EINTR);
    if (found == 0) { errno = ETIMEDOUT; }
    return found != 0;
  };
  if (!wait()) { return false; }
  if (std::fflush(stream) != 0) { return false; }  // output of the program must come first
  for (std::size_t done = 0; done < text.size();) {
    if (!wait()) { return false; }
    const ssize_t count =
        ::write(ready.fd, text.data() + done, std::min<std::size_t>(text.size() - done, _POSIX_PIPE_BUF));
    if (count < 0 && errno != EINTR && errno != EAGAIN) { return false; }
    done += count < 0 ? 0 : static_cast<std::size_t>(count);
  }
  return true;
}

bool write_text(std::FILE* stream, const std::string& text) {
  struct stat status = {};
  const bool file = ::fstat(::fileno(stream), &status) != 0 || S_ISREG(status.st_mode);  // or an invalid descriptor
  return file ? write_by_stdio(stream, text) : write_past_stdio(stream, text);
}

bool print_table(const Snapshot& snapshot, const ConsoleOptions& options) {
  std::FILE* stream = options.stream != nullptr ? options.stream : stdout;
  if (detail::is_file_by_chance(::fileno(stream))) {
    detail::report_error("console",
                         "stdout was closed when the program started, and its descriptor is now "
                         "a file of the program: the table is not printed");
    return true;  // no reader
  }
  const int width = detail::width_of(stream, options.width);
  const bool color = detail::wants_color(stream, options.color);
  std::string text = snapshot.job == nullptr || snapshot.uncaught.happened
                         ? format_table(snapshot, width, color)
                         : detail::format_job(detail::report_of_job(snapshot), width, color);
  if (!snapshot.measurements.empty()) {
    const RunInfo& run = snapshot.run;
    text += "\n" + detail::format_measurements(run, detail::format("rank {} of {}", run.rank, run.world_size),
                                               snapshot.measurements, width, color);
  }
  errno = 0;
  if (write_text(stream, text)) { return true; }
  char buffer[128];
  const char* const reason = ::strerror_r(errno, buffer, sizeof buffer);
  detail::report_error("console", detail::Words("cannot print the table: ", reason,
                                                "; summary.json has the same figures if files are enabled"));
  return false;
}

}  // namespace

std::string format_table(const Snapshot& snapshot, int width, bool color) {
  detail::Page page(width, color);
  const TextTable table = table_of(snapshot, page.width());
  const detail::Notes notes = detail::notes_of(snapshot);
  page.gap();
  page.add_part({detail::title_of(snapshot)}, detail::Page::Style::bold);
  page.add_part(detail::one_of_many_lines(snapshot), detail::Page::Style::plain);
  page.add_part(detail::finding_lines(snapshot.findings), detail::Page::Style::bold);
  page.add(head_of(table), detail::Page::Style::bold);
  page.add_part(table.body(), detail::Page::Style::plain);
  page.add_part(notes.rates, detail::Page::Style::plain);
  page.add(notes.caveats, detail::Page::Style::dim);
  return page.text();
}

ExportResult ConsoleExporter::export_snapshot(const Snapshot& snapshot) {
  if (!snapshot.finished) { return ExportResult::ok; }
  return print_table(snapshot, options_) ? ExportResult::ok : ExportResult::drop;
}

void ConsoleExporter::print(const Snapshot& snapshot) const { print_table(snapshot, options_); }

TAKT_END_NAMESPACE
