// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/stream_file.hpp"

#include "base/fault.hpp"
#include "base/folder_files.hpp"
#include "base/words.hpp"

#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {

StreamFile::StreamFile(std::string path, const char* exporter)
    : path_(std::move(path)), folder_(std::make_shared<FolderFiles>(folder_part(path_))), exporter_(exporter) {
  (void)folder_->is_open();
}

ExportResult StreamFile::refuse(bool finished) {
  ++failures_;
  if (finished || failures_ == kFailuresToReport) { report_fault(exporter_, file_.error()); }
  return ExportResult::retry;
}

ExportResult StreamFile::begin(std::string_view head, bool finished) {
  if (committed_) { return ExportResult::drop; }
  if (!file_.is_open()) {
    if (!file_.open(folder_, name_part(path_))) { return refuse(finished); }
  }
  if (!has_head_) { append(head); }
  has_head_ = true;
  // With text held back from a failed export, taking more would let it grow as long as the disk is full.
  return file_.flush() ? ExportResult::ok : refuse(finished);
}

void StreamFile::append(std::string_view text) {
  if (has_tail_) { return; }
  // A failure shows again, and counts, in end(): until then the text is held in memory.
  (void)file_.write(text);
}

void StreamFile::append(std::uint64_t sequence, std::string_view text) {
  file_.make_room(text.size());
  taken_.insert(sequence);
  append(text);
}

ExportResult StreamFile::refuse_for_memory() noexcept {
  report_fault(exporter_, Words("no memory is left to write ", path_, "; what is new for it waits"));
  return ExportResult::retry;
}

ExportResult StreamFile::end(std::string_view tail, bool finished) {
  if (!file_.flush()) { return refuse(finished); }
  if (finished) {
    append(tail);
    has_tail_ = has_tail_ || !tail.empty();
  }
  if (finished && !file_.commit()) { return refuse(finished); }
  committed_ = finished;
  if (committed_) { folder_.reset(); }
  taken_.clear();
  failures_ = 0;
  return ExportResult::ok;
}

}  // namespace detail
TAKT_END_NAMESPACE
