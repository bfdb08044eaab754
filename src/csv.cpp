// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/exporters/csv.hpp>

#include "stream_file.hpp"

#include <fmt/format.h>

#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace {

constexpr std::string_view kHead =
    "step,series,batch_path,thread,begin_ns,batch_ns,period_ns,items,warmup,complete,path,calls,host_ns,device_ns\n";

/// RFC 4180: a field with a separator in it is quoted, and its quotes are doubled.
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) { return text; }
  std::string out = "\"";
  for (const char each : text) { out.append(each == '"' ? 2 : 1, each); }
  return out += '"';
}

std::string present(std::int64_t ns) { return ns < 0 ? "" : std::to_string(ns); }

/// The lines of one snapshot. Names are quoted once, not once a line.
class Lines {
 public:
  explicit Lines(const Snapshot& snapshot) : snapshot_(snapshot) {
    for (std::uint32_t path = 0; path < snapshot.paths.size(); ++path) {
      paths_.push_back(field(snapshot.path_name(path)));
    }
  }

  std::string of(const Row& row) const {
    const std::string head = columns_of_row(row);
    if (row.cells.empty()) { return head + ",,,,\n"; }
    std::string out;
    for (const Cell& cell : row.cells) {
      fmt::format_to(std::back_inserter(out), "{},{},{},{},{}\n", head, path(cell.path), cell.calls, cell.host_ns,
                     present(cell.device_ns));
    }
    return out;
  }

 private:
  std::string columns_of_row(const Row& row) const {
    const Series series = row.series < snapshot_.series.size() ? snapshot_.series[row.series] : Series();
    const std::string thread =
        series.thread < snapshot_.threads.size() ? field(snapshot_.threads[series.thread].name) : std::string();
    return fmt::format("{},{},{},{},{},{},{},{},{:d},{:d}", row.step, row.series, path(series.path), thread,
                       row.begin_ns, row.host_ns, present(row.period_ns), row.items, row.warmup, row.complete);
  }

  std::string_view path(std::uint32_t index) const {
    return index < paths_.size() ? std::string_view(paths_[index]) : std::string_view("other");
  }

  const Snapshot& snapshot_;
  std::vector<std::string> paths_;
};

}  // namespace

struct CsvExporter::Impl {
  explicit Impl(std::string path) : file(std::move(path), "csv") {}

  detail::StreamFile file;
};

CsvExporter::CsvExporter(std::string path) : impl_(std::make_unique<Impl>(std::move(path))) {}
CsvExporter::~CsvExporter() = default;
CsvExporter::CsvExporter(CsvExporter&&) noexcept = default;
CsvExporter& CsvExporter::operator=(CsvExporter&&) noexcept = default;

ExportResult CsvExporter::export_snapshot(const Snapshot& snapshot) {
  detail::StreamFile& file = impl_->file;
  const ExportResult begun = file.begin(kHead, snapshot.finished);
  if (begun != ExportResult::ok) { return begun; }
  const Lines lines(snapshot);
  for (const Row& row : snapshot.rows) {
    if (file.is_new(row.sequence)) { file.append(lines.of(row)); }
  }
  return file.end("", snapshot.finished);
}

TAKT_END_NAMESPACE
