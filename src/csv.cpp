// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/exporters/csv.hpp>

#include "csv_rows.hpp"
#include "stream_file.hpp"

#include <utility>

TAKT_BEGIN_NAMESPACE

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
  const ExportResult begun = file.begin(detail::CsvRows::head(), snapshot.finished);
  if (begun != ExportResult::ok) { return begun; }
  const detail::CsvRows lines(snapshot);
  for (const Row& row : snapshot.rows) {
    if (file.is_new(row.sequence)) { file.append(lines.of(row)); }
  }
  return file.end("", snapshot.finished);
}

TAKT_END_NAMESPACE
