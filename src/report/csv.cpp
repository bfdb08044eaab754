// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/exporters/csv.hpp>

#include "base/fault.hpp"
#include "base/stream_file.hpp"
#include "report/csv_rows.hpp"

#include <atomic>
#include <new>
#include <utility>

TAKT_BEGIN_NAMESPACE

struct CsvExporter::Impl {
  Impl(std::string given, std::size_t most) : path(given), file(std::move(given), "csv"), max_bytes(most) {}

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
    detail::report_fault_once("csv.full", path + " has reached its bound (TAKT_CSV_MB): later steps are not in it. " +
                                              "takt report --steps prints those that the journal has");
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
  try {
    const ExportResult begun = file.begin(detail::CsvRows::head(), snapshot.finished);
    if (begun != ExportResult::ok) { return begun; }
    const detail::CsvRows lines(snapshot);
    for (const Row& row : snapshot.rows) {
      if (file.is_new(row.sequence)) { impl_->add(lines, row); }
    }
    return file.end("", snapshot.finished);
  } catch (const std::bad_alloc&) { return file.refuse_for_memory(); }
}

std::uint64_t CsvExporter::left_out() const noexcept { return impl_->left_out.load(std::memory_order_relaxed); }

TAKT_END_NAMESPACE
