// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/exporters/console.hpp>

#include "base/descriptor.hpp"
#include "base/fault.hpp"
#include "base/text.hpp"
#include "base/words.hpp"
#include "base/write_patience.hpp"
#include "report/notes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include <limits.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace {

using detail::columns_of;

constexpr int kNarrowest = 40;
constexpr int kWidthOfNoTerminal = 100;
constexpr std::size_t kGap = 2;

// In the order in which they stand.
enum Column : unsigned {
  kCount,
  kTotal,
  kMean,
  kP50,
  kP90,
  kP99,
  kMax,
  kSelf,
  kShare,
  kFirst,
  kStream,
  kStreamMean,
  kColumns
};
constexpr const char* kHeads[kColumns] = {"n",   "total", "mean",  "p50",   "p90",   "p99",
                                          "max", "self",  "share", "first", "total", "mean"};
constexpr Column kAlways[] = {kCount, kTotal, kMean};
// What is shown where there is room, the most important one first. The two stream columns go together.
constexpr Column kWithRoom[] = {kShare, kStream, kP50, kSelf, kP99, kMax, kFirst, kP90};
constexpr const char* kStreamHead = "stream span";

struct TableRow {
  std::string name;
  std::size_t depth = 0;
  std::string cells[kColumns];
};

std::string time_of(std::uint64_t ns) { return detail::human_time(static_cast<double>(ns)); }

/// Figures that leave warm-up out: "-" where nothing else was measured.
std::string measured(const Summary& summary, double ns) {
  return summary.measured_n() == 0 ? "-" : detail::human_time(ns);
}
/// "-" where it could not be told from the longest call.
std::string quantile(const Summary& summary, double q) {
  return has_percentile(summary, q) ? time_of(summary.percentile_ns(q)) : "-";
}

TableRow row_of_run(const Snapshot& snapshot) {
  TableRow row;
  row.name = "run";
  row.cells[kTotal] = detail::human_time(static_cast<double>(snapshot.wall_ns));
  return row;
}

std::string share_of(const Snapshot& snapshot, std::uint32_t path) {
  const double share = snapshot.share_of_parent(path);
  return share < 0 ? "-" : detail::percent(share, 1);
}

TableRow row_of(const Snapshot& snapshot, std::uint32_t index) {
  const PathStats& path = snapshot.paths[index];
  const Summary& host = path.host;
  TableRow row;
  row.name = detail::printable(path.name);
  row.depth = path.depth;
  row.cells[kCount] = detail::human_count(host.n());
  row.cells[kTotal] = time_of(host.total_ns());
  row.cells[kMean] = measured(host, host.mean_ns());
  row.cells[kP50] = quantile(host, 0.50);
  row.cells[kP90] = quantile(host, 0.90);
  row.cells[kP99] = quantile(host, 0.99);
  row.cells[kMax] = measured(host, static_cast<double>(host.max_ns()));
  row.cells[kSelf] = time_of(path.self_ns);
  row.cells[kShare] = share_of(snapshot, index);
  row.cells[kFirst] = host.first_n() == 0 ? "-" : time_of(host.first_max_ns());
  if (path.device.n() != 0) {
    row.cells[kStream] = time_of(path.device.total_ns());
    row.cells[kStreamMean] = measured(path.device, path.device.mean_ns());
  }
  return row;
}

/// Every path after its parent and before the parent's next child; children in the order given.
std::vector<std::uint32_t> tree_order(const Snapshot& snapshot) {
  const auto paths = static_cast<std::uint32_t>(snapshot.paths.size());
  std::vector<std::vector<std::uint32_t>> children(paths + 1U);  // the last one: of the run
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

/// The table without the notes: which columns there is room for, and how wide they are.
class Table {
 public:
  Table(const Snapshot& snapshot, std::size_t width) {
    rows_.push_back(row_of_run(snapshot));
    for (const std::uint32_t path : tree_order(snapshot)) { rows_.push_back(row_of(snapshot, path)); }
    measure();
    const auto has_device = [](const PathStats& path) { return path.device.n() != 0; };
    choose(width, std::any_of(snapshot.paths.begin(), snapshot.paths.end(), has_device));
  }

  std::vector<std::string> head_lines() const {
    std::string cells;
    for (unsigned column = 0; column < kColumns; ++column) { append_cell(cells, column, kHeads[column]); }
    std::vector<std::string> lines;
    if (shown_[kStream]) { lines.push_back(fmt::format("{:>{}}", kStreamHead, name_width_ + cells_width_)); }
    lines.push_back(fmt::format("{:<{}}{}", "region", name_width_, cells));
    return lines;
  }

  std::vector<std::string> body_lines() const {
    std::vector<std::string> lines;
    for (const TableRow& row : rows_) {
      std::string line = name_cell(row);
      for (unsigned column = 0; column < kColumns; ++column) { append_cell(line, column, row.cells[column]); }
      lines.push_back(line.substr(0, line.find_last_not_of(' ') + 1));
    }
    return lines;
  }

 private:
  void measure() {
    for (unsigned column = 0; column < kColumns; ++column) {
      widths_[column] = std::strlen(kHeads[column]);
      for (const TableRow& row : rows_) { widths_[column] = std::max(widths_[column], row.cells[column].size()); }
    }
    name_width_ = std::strlen("region");
    for (const TableRow& row : rows_) { name_width_ = std::max(name_width_, 2 * row.depth + columns_of(row.name)); }
  }

  std::size_t width_with_gap(Column column) const {
    return kGap + widths_[column] + (column == kStream ? kGap + widths_[kStreamMean] : 0);
  }

  void show(Column column) {
    shown_[column] = true;
    if (column == kStream) { shown_[kStreamMean] = true; }
    cells_width_ += width_with_gap(column);
  }

  void choose(std::size_t width, bool device) {
    // A shorter name than this hides more than a column does.
    const std::size_t name = std::min(name_width_, 3 * width / 10);
    for (const Column column : kAlways) { show(column); }
    for (const Column column : kWithRoom) {
      if (column == kStream && !device) { continue; }
      if (name + cells_width_ + width_with_gap(column) <= width) { show(column); }
    }
    name_width_ = std::min(name_width_, width - cells_width_);
  }

  /// Deep in the tree the indentation stops where it would leave no room for the name.
  std::string name_cell(const TableRow& row) const {
    const std::size_t indent = std::min(2 * row.depth, name_width_ / 2);
    const std::string name = detail::fit(row.name, name_width_ - indent);
    return std::string(indent, ' ') + name + std::string(name_width_ - indent - columns_of(name), ' ');
  }

  void append_cell(std::string& line, unsigned column, const std::string& text) const {
    if (shown_[column]) { line += std::string(kGap + widths_[column] - text.size(), ' ') + text; }
  }

  std::vector<TableRow> rows_;
  std::size_t widths_[kColumns] = {};
  bool shown_[kColumns] = {};
  std::size_t cells_width_ = 0;  // of those shown, gaps included
  std::size_t name_width_ = 0;
};

/// Lines in one style; what is longer than the width is wrapped.
class Page {
 public:
  enum class Style { plain, bold, dim };
  Page(std::size_t width, bool color) : width_(width), color_(color) {}

  void add(const std::vector<std::string>& lines, Style style) {
    for (const std::string& line : lines) {
      for (const std::string& part : detail::wrap(line, width_)) { print(part, style); }
    }
  }
  void gap() { text_ += '\n'; }
  const std::string& text() const noexcept { return text_; }

 private:
  void print(const std::string& line, Style style) {
    const bool styled = color_ && style != Style::plain;
    text_ += styled ? (style == Style::bold ? "\x1b[1m" : "\x1b[2m") : "";
    text_ += line;
    text_ += styled ? "\x1b[0m\n" : "\n";
  }

  std::size_t width_;
  bool color_;
  std::string text_;
};

std::string title_of(const Snapshot& snapshot) {
  const RunInfo& run = snapshot.run;
  const char* state = snapshot.killed     ? "killed after"
                      : snapshot.failed   ? "failed after"
                      : snapshot.finished ? "took"
                                          : "so far";
  // Several ranks that were added up have no number.
  const std::string ranks = run.rank < 0 ? fmt::format("{} ranks together", run.world_size)
                                         : fmt::format("rank {} of {}", run.rank, run.world_size);
  return fmt::format("Takt: {}, run {}, {}, {} {}", detail::printable(run.name), detail::printable(run.id), ranks,
                     state, detail::human_time(static_cast<double>(snapshot.wall_ns)));
}

bool wants_color(std::FILE* stream, ConsoleOptions::Color color) {
  if (color != ConsoleOptions::Color::automatic) { return color == ConsoleOptions::Color::always; }
  const char* no_color = std::getenv("NO_COLOR");  // https://no-color.org: set and not empty
  const char* terminal = std::getenv("TERM");
  // Launchers of MPI give ranks a terminal of their own, and write what arrives there into a file, perhaps.
  for (const char* const launcher : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK"}) {
    if (std::getenv(launcher) != nullptr) { return false; }
  }
  return ::isatty(::fileno(stream)) == 1 && (no_color == nullptr || *no_color == '\0') &&
         (terminal == nullptr || std::strcmp(terminal, "dumb") != 0);
}

int width_of(std::FILE* stream, int wanted) {
  winsize size = {};
  if (wanted == 0 && ::ioctl(::fileno(stream), TIOCGWINSZ, &size) == 0) { wanted = size.ws_col; }
  return wanted == 0 ? kWidthOfNoTerminal : wanted;
}

bool write_by_stdio(std::FILE* stream, const std::string& text) {
  return std::fwrite(text.data(), 1, text.size(), stream) == text.size() && std::fflush(stream) == 0;
}

/// To a pipe or a terminal that takes nothing, stdio would wait with the stream's lock in its hand, and exit() for that lock:
/// so what goes there goes past stdio, in pieces that are sure to fit.
bool write_past_stdio(std::FILE* stream, const std::string& text) {
  pollfd ready = {::fileno(stream), POLLOUT, 0};
  const auto wait = [&ready] {
    int found = 0;
    do { found = ::poll(&ready, 1, detail::table_patience.left_ms(-1)); } while (found < 0 && errno == EINTR);
    if (found == 0) { errno = ETIMEDOUT; }
    return found != 0;
  };
  if (!wait()) { return false; }
  if (std::fflush(stream) != 0) { return false; }  // what the program has printed comes first
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
  const bool file = ::fstat(::fileno(stream), &status) != 0 || S_ISREG(status.st_mode);  // or no descriptor at all
  return file ? write_by_stdio(stream, text) : write_past_stdio(stream, text);
}

bool print_table(const Snapshot& snapshot, const ConsoleOptions& options) {
  std::FILE* stream = options.stream != nullptr ? options.stream : stdout;
  if (detail::is_file_by_chance(::fileno(stream))) {
    detail::report_fault("console",
                         "there was no standard output when the program began, and what has its number now is "
                         "a file of the program's, into which no table is printed");
    return true;  // nobody is there to read it
  }
  const std::string text = format_table(snapshot, width_of(stream, options.width), wants_color(stream, options.color));
  errno = 0;
  if (write_text(stream, text)) { return true; }
  char buffer[128];
  const char* const reason = ::strerror_r(errno, buffer, sizeof buffer);
  detail::report_fault("console", detail::Words("cannot print the table: ", reason,
                                                "; summary.json has the same figures where files are on"));
  return false;
}

}  // namespace

std::string format_table(const Snapshot& snapshot, int width, bool color) {
  const auto columns = static_cast<std::size_t>(std::max(width, kNarrowest));
  const Table table(snapshot, columns);
  const detail::Notes notes = detail::notes_of(snapshot);
  Page page(columns, color);
  page.gap();
  page.add({title_of(snapshot)}, Page::Style::bold);
  page.gap();
  if (!notes.mistakes.empty()) {
    page.add(notes.mistakes, Page::Style::plain);
    page.gap();
  }
  page.add(table.head_lines(), Page::Style::bold);
  page.add(table.body_lines(), Page::Style::plain);
  page.gap();
  if (!notes.rates.empty()) {
    page.add(notes.rates, Page::Style::plain);
    page.gap();
  }
  page.add(notes.caveats, Page::Style::dim);
  return page.text();
}

ExportResult ConsoleExporter::export_snapshot(const Snapshot& snapshot) {
  if (!snapshot.finished) { return ExportResult::ok; }
  try {
    return print_table(snapshot, options_) ? ExportResult::ok : ExportResult::drop;
  } catch (const std::bad_alloc&) { return ExportResult::retry; }  // nothing has been printed yet
}

void ConsoleExporter::print(const Snapshot& snapshot) const { print_table(snapshot, options_); }

TAKT_END_NAMESPACE
