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

std::vector<std::string> finding_lines(const std::vector<Finding>& findings, std::size_t max) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < std::min(findings.size(), max); ++at) {
    lines.push_back(printable(findings[at].sentence));
  }
  if (findings.size() > max) {
    const std::size_t more = findings.size() - max;
    lines.push_back(detail::format("{} more finding{}: takt report", more, more == 1 ? "" : "s"));
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

std::vector<std::string> names_in(std::string_view list) {
  std::vector<std::string> names;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    if (end != 0) { names.emplace_back(list.substr(0, end)); }
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  for (std::string& each : names) { std::replace(each.begin(), each.end(), '_', ' '); }
  return names;
}

bool reports(const std::vector<Finding>& findings, std::string_view what) {
  return std::any_of(findings.begin(), findings.end(), [what](const Finding& each) { return each.what == what; });
}

}  // namespace detail
namespace {

constexpr const char* kStreamHead = "stream span";
constexpr unsigned kDevicePriority = 2;
constexpr unsigned kOnDemand = 9;  // only if the form names it

/// Formats a figure without warm-up; "-" if nothing else was measured.
std::string measured(const Summary& summary, double ns) {
  return summary.measured_n() == 0 ? "-" : detail::human_time(ns);
}
/// "-" if it is indistinguishable from the longest call.
std::string quantile(const Summary& summary, double q) {
  return has_percentile(summary, q) ? detail::human_ns(summary.percentile_ns(q)) : "-";
}

/// "-" below two calls: a standard deviation needs them.
std::string stdev_of(const Summary& summary) {
  return summary.measured_n() < 2 ? "-" : detail::human_time(summary.stdev_ns());
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

/// "-" if the threads are unknown.
std::string by_thread(const Place& at, const std::string& figure) { return at.path.spread.threads == 0 ? "-" : figure; }

struct Column {
  const char* name;  ///< in TableForm::columns, and the heading if it is chosen there
  const char* head;
  unsigned priority;  ///< as in TextColumn
  bool of_device;     ///< about stream spans: not shown without any, empty for a path without one
  std::string (*cell)(const Place& at);
};

constexpr Column kTable[] = {
    {"n", "n", 0, false, [](const Place& at) { return detail::human_count(at.host.n()); }},
    {"total", "total", 0, false,
     [](const Place& at) { return detail::human_ns(at.snapshot.time_so_far_ns(at.index)); }},
    {"mean", "mean", 0, false, [](const Place& at) { return measured(at.host, at.host.mean_ns()); }},
    {"stdev", "stdev", kOnDemand, false, [](const Place& at) { return stdev_of(at.host); }},
    {"min", "min", kOnDemand, false,
     [](const Place& at) { return measured(at.host, static_cast<double>(at.host.min_ns())); }},
    {"p50", "p50", 3, false, [](const Place& at) { return quantile(at.host, 0.50); }},
    {"p90", "p90", 8, false, [](const Place& at) { return quantile(at.host, 0.90); }},
    {"p99", "p99", 5, false, [](const Place& at) { return quantile(at.host, 0.99); }},
    {"max", "max", 6, false, [](const Place& at) { return measured(at.host, static_cast<double>(at.host.max_ns())); }},
    {"self", "self", 4, false, [](const Place& at) { return detail::human_ns(at.path.self_ns); }},
    {"share", "share", 1, false, share_of},
    {"first", "first", 7, false, [](const Place& at) { return first_of(at.host); }},
    {"threads", "threads", kOnDemand, false,
     [](const Place& at) { return by_thread(at, detail::human_count(at.path.spread.threads)); }},
    {"thread mean", "thread mean", kOnDemand, false,
     [](const Place& at) { return by_thread(at, detail::human_time(at.path.ns_a_thread())); }},
    {"thread max", "thread max", kOnDemand, false,
     [](const Place& at) { return by_thread(at, detail::human_ns(at.path.spread.longest_ns)); }},
    {"span total", "total", kDevicePriority, true,
     [](const Place& at) { return detail::human_ns(at.device.total_ns()); }},
    {"span mean", "mean", kDevicePriority, true,
     [](const Place& at) { return measured(at.device, at.device.mean_ns()); }},
};

using detail::TextTable;

struct Chosen {
  std::vector<const Column*> columns;
  bool named = false;  ///< by the form; false: the usual ones
};

/// Returns the columns that the form names, or the usual ones if it names none that exists.
Chosen columns_of(const Snapshot& snapshot, const TableForm& form) {
  std::vector<const Column*> columns;
  for (const std::string& name : detail::names_in(form.columns)) {
    const auto found =
        std::find_if(std::begin(kTable), std::end(kTable), [&](const Column& each) { return each.name == name; });
    if (found != std::end(kTable)) { columns.push_back(&*found); }
  }
  if (!columns.empty()) { return {columns, true}; }
  const auto has_device = [](const PathStats& path) { return path.device.n() != 0; };
  const bool device = std::any_of(snapshot.paths.begin(), snapshot.paths.end(), has_device);
  for (const Column& each : kTable) {
    if (each.priority != kOnDemand && (device || !each.of_device)) { columns.push_back(&each); }
  }
  return {columns, false};
}

TextTable::Line line_of_run(const Snapshot& snapshot, const std::vector<const Column*>& columns) {
  TextTable::Line line{"run", 0, {}};
  for (const Column* each : columns) {
    const bool total = std::string_view(each->name) == "total";
    line.cells.push_back(total ? detail::human_time(static_cast<double>(snapshot.wall_ns)) : "");
  }
  return line;
}

TextTable::Line line_of(const Place& at, const std::vector<const Column*>& columns) {
  TextTable::Line line{detail::printable(at.path.name), at.path.depth, {}};
  for (const Column* each : columns) {
    line.cells.push_back(each->of_device && at.device.n() == 0 ? "" : each->cell(at));
  }
  return line;
}

TextTable table_of(const Snapshot& snapshot, const Chosen& chosen, std::size_t width) {
  std::vector<TextTable::Line> lines = {line_of_run(snapshot, chosen.columns)};
  for (const std::uint32_t path : detail::tree_order(snapshot)) {
    lines.push_back(line_of({snapshot, path}, chosen.columns));
  }
  std::vector<detail::TextColumn> columns;
  columns.reserve(chosen.columns.size());
  for (const Column* each : chosen.columns) {
    columns.push_back(chosen.named ? detail::TextColumn{each->name, 0}
                                   : detail::TextColumn{each->head, each->priority});
  }
  return {columns, std::move(lines), width};
}

/// Returns the heading, with a line above the stream-span columns if these are shown.
std::vector<std::string> head_of(const TextTable& table, bool named) {
  if (named || !table.shows(kDevicePriority)) { return {table.head()}; }
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
  TableForm form;
  form.width = detail::width_of(stream, options.width);
  form.color = detail::wants_color(stream, options.color);
  std::string text = snapshot.job == nullptr || snapshot.uncaught.happened
                         ? format_table(snapshot, form)
                         : detail::format_job(detail::report_of_job(snapshot), form);
  if (!snapshot.measurements.empty()) {
    const RunInfo& run = snapshot.run;
    text += "\n" + detail::format_measurements(run, detail::format("rank {} of {}", run.rank, run.world_size),
                                               snapshot.measurements, form.width, form.color);
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

std::vector<std::string> detail::table_columns() {
  std::vector<std::string> names;
  for (const Column& each : kTable) { names.emplace_back(each.name); }
  return names;
}

std::string format_table(const Snapshot& snapshot, const TableForm& form) {
  detail::Page page(form.width, form.color);
  const Chosen chosen = columns_of(snapshot, form);
  const TextTable table = table_of(snapshot, chosen, page.width());
  const detail::Notes notes = detail::notes_of(snapshot);
  page.gap();
  page.add_part({detail::title_of(snapshot)}, detail::Page::Style::bold);
  page.add_part(detail::one_of_many_lines(snapshot), detail::Page::Style::plain);
  page.add_part(detail::finding_lines(snapshot.findings, form.findings), detail::Page::Style::bold);
  page.add(head_of(table, chosen.named), detail::Page::Style::bold);
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
