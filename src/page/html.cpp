// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/exporters/html.hpp>

#include "base/fault.hpp"
#include "base/file.hpp"
#include "base/words.hpp"
#include "page/run_page.hpp"

#include <new>
#include <string_view>

TAKT_BEGIN_NAMESPACE

namespace {

constexpr const char* kPageFile = "run.html";

}  // namespace

std::string format_html(const Snapshot& snapshot) { return detail::page_of(snapshot); }

ExportResult HtmlExporter::export_snapshot(const Snapshot& snapshot) {
  if (!snapshot.finished) { return ExportResult::ok; }
  try {
    std::string error;
    const std::string page = format_html(snapshot);
    if (detail::write_whole(
            detail::path_or_in(snapshot.run.directory, kPageFile, path_),
            [&page](detail::WholeFile& file) { return file.write(page); }, error)) {
      return ExportResult::ok;
    }
    detail::report_fault("html", error);
  } catch (const std::bad_alloc&) {
    detail::report_fault(
        "html", detail::Words("no memory is left to write ", path_.empty() ? std::string_view(kPageFile) : path_));
  }
  return ExportResult::retry;
}

TAKT_END_NAMESPACE
