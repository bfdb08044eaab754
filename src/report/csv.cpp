// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "report/csv.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/report_error.hpp"
#include "base/text.hpp"

#include <takt/exporters/csv.hpp>
#include <takt/snapshot.hpp>

#include <atomic>
#include <charconv>
#include <iterator>
#include <limits>
#include <new>
#include <utility>

TAKT_BEGIN_NAMESPACE

struct CsvExporter::Impl {
  Impl(std::string given, std::size_t max) : path(given), file(std::move(given), "csv"), max_bytes(max) {}

  void add(const detail::CsvRows& lines, const Row& row);

  const std::string path;
  detail::StreamFile file;
  const std::size_t max_bytes;
  std::size_t bytes = 0;
  std::atomic<std::uint64_t> left_out{0};
};

void CsvExporter::Impl::add(const detail::CsvRows& lines, const Row& row) {
  if (bytes >= max_bytes) {
    left_out.fetch_add(1, std::memory_order_relaxed);
    detail::report_error_once("csv.full", path +
                                              " has reached its size limit (TAKT_CSV_MB): later steps are missing. " +
                                              "takt report --steps prints those in the journal");
    return;
  }
  const std::string text = lines.of(row);
  file.append(row.sequence, text);
  bytes += text.size();
}

CsvExporter::CsvExporter(std::string path, std::size_t max_bytes)
    : impl_(std::make_unique<Impl>(std::move(path), max_bytes)) {}
CsvExporter::~CsvExporter() = default;
CsvExporter::CsvExporter(CsvExporter&&) noexcept = default;
CsvExporter& CsvExporter::operator=(CsvExporter&&) noexcept = default;

ExportResult CsvExporter::export_snapshot(const Snapshot& snapshot) {
  detail::StreamFile& file = impl_->file;
  const ExportResult started = file.begin(detail::CsvRows::head(), snapshot.finished);
  if (started != ExportResult::ok) { return started; }
  const detail::CsvRows lines(snapshot);
  for (const Row& row : snapshot.rows) {
    if (file.is_new(row.sequence)) { impl_->add(lines, row); }
  }
  return file.end("", snapshot.finished);
}

std::uint64_t CsvExporter::left_out() const noexcept { return impl_->left_out.load(std::memory_order_relaxed); }

namespace detail {
namespace {

/// Appends without format(), which is slow for files with many numbers.
void append_number(std::string& out, std::int64_t number) {
  char digits[std::numeric_limits<std::int64_t>::digits10 + 2];  // the first digit and the sign
  out.append(digits, std::to_chars(std::begin(digits), std::end(digits), number).ptr);
}

void add_present(std::string& out, std::int64_t ns) {
  if (ns >= 0) { append_number(out, ns); }
}

}  // namespace

std::string csv_field(const std::string& name) {
  std::string text = printable(name);
  const bool has_blank_end = !text.empty() && (text.front() == ' ' || text.back() == ' ');  // many readers strip these
  if (!has_blank_end && text.find_first_of(",\"") == std::string::npos) { return text; }
  std::string out = "\"";
  for (const char each : text) { out.append(each == '"' ? 2 : 1, each); }
  return out += '"';
}

std::string_view CsvRows::head() noexcept {
  return "step,series,batch_path,thread,begin_ns,batch_ns,period_ns,items,warmup,complete,path,calls,host_ns,device_"
         "ns,exposed_comm_ns,exposed_io_ns\n";
}

CsvRows::CsvRows(const Snapshot& snapshot) : snapshot_(snapshot) {
  for (std::uint32_t path = 0; path < snapshot.paths.size(); ++path) {
    paths_.push_back(csv_field(snapshot.path_name(path)));
  }
}

std::string CsvRows::of(const Row& row, std::string_view prefix) const {
  const std::string head = std::string(prefix) + columns_of_row(row);
  const Exposed exposed = Exposed::of(snapshot_, row);
  std::string tail = ",";
  add_present(tail, exposed.comm_ns.value_or(-1));
  tail += ',';
  add_present(tail, exposed.io_ns.value_or(-1));
  tail += '\n';
  if (row.cells.empty()) { return head + ",,,," + tail; }
  std::string out;
  for (const Cell& cell : row.cells) {
    out.append(head).append(1, ',').append(path(cell.path)).append(1, ',');
    append_number(out, cell.calls);
    out += ',';
    append_number(out, cell.host_ns);
    out += ',';
    add_present(out, cell.device_ns);
    out += tail;
  }
  return out;
}

std::string CsvRows::columns_of_row(const Row& row) const {
  const Series series = row.series < snapshot_.series.size() ? snapshot_.series[row.series] : Series();
  const std::string thread =
      series.thread < snapshot_.threads.size() ? csv_field(snapshot_.threads[series.thread].name) : std::string();
  std::string out;
  const auto add_column = [&out](std::int64_t number) {
    append_number(out, number);
    out += ',';
  };
  add_column(row.step);
  add_column(row.series);
  out.append(path(series.path)).append(1, ',').append(thread).append(1, ',');
  add_column(row.begin_ns);
  add_column(row.host_ns);
  add_present(out, row.period_ns.value_or(-1));
  out += ',';
  add_column(row.items);
  out.append(row.warmup ? "1," : "0,").append(row.complete ? "1" : "0");
  return out;
}

std::string_view CsvRows::path(std::uint32_t index) const {
  return index < paths_.size() ? std::string_view(paths_[index]) : std::string_view("other");
}

}  // namespace detail
TAKT_END_NAMESPACE
