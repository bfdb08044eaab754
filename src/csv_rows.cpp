// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "csv_rows.hpp"

#include <takt/exposed.hpp>

#include "text.hpp"

#include <fmt/format.h>

#include <iterator>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

std::string present(std::int64_t ns) { return ns < 0 ? "" : std::to_string(ns); }

}  // namespace

std::string csv_field(const std::string& name) {
  std::string text = printable(name);
  if (text.find_first_of(",\"") == std::string::npos) { return text; }
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
  const std::string tail = fmt::format(",{},{}\n", present(exposed.comm_ns), present(exposed.io_ns));
  if (row.cells.empty()) { return head + ",,,," + tail; }
  std::string out;
  for (const Cell& cell : row.cells) {
    fmt::format_to(std::back_inserter(out), "{},{},{},{},{}{}", head, path(cell.path), cell.calls, cell.host_ns,
                   present(cell.device_ns), tail);
  }
  return out;
}

std::string CsvRows::columns_of_row(const Row& row) const {
  const Series series = row.series < snapshot_.series.size() ? snapshot_.series[row.series] : Series();
  const std::string thread =
      series.thread < snapshot_.threads.size() ? csv_field(snapshot_.threads[series.thread].name) : std::string();
  return fmt::format("{},{},{},{},{},{},{},{},{:d},{:d}", row.step, row.series, path(series.path), thread, row.begin_ns,
                     row.host_ns, present(row.period_ns), row.items, row.warmup, row.complete);
}

std::string_view CsvRows::path(std::uint32_t index) const {
  return index < paths_.size() ? std::string_view(paths_[index]) : std::string_view("other");
}

}  // namespace detail
TAKT_END_NAMESPACE
