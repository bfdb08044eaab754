// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/exporter.hpp>

#include "base/file.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A WholeFile that an exporter adds to from export to export. It answers `retry` while nothing can be written, and
/// neither repeats nor loses a record when that is over. What it holds back is at most one export's worth.
/// One thread at a time.
class StreamFile {
 public:
  /// The file will be in the folder that the path leads to now, if there is one, wherever that is moved.
  /// \param exporter name() of the exporter, static storage: the cause that faults are reported under.
  StreamFile(std::string path, const char* exporter);

  /// Opens the file at first, with `head`. `ok`: append what is_new(), then call end(). All else is the export's
  /// answer.
  ExportResult begin(std::string_view head, bool finished);
  /// False for a record that was appended in an export that had to answer `retry`.
  bool is_new(std::uint64_t sequence) const { return taken_.count(sequence) == 0; }
  /// Nothing can be appended behind a tail. Throws std::bad_alloc, and then has appended nothing.
  void append(std::string_view text);
  /// The text of a record, which is not new from then on.
  void append(std::uint64_t sequence, std::string_view text);
  /// Writes out; of a finished run, adds `tail` and gives the file its name. The answer is the export's.
  ExportResult end(std::string_view tail, bool finished);
  /// The answer where memory ran out on the way: what was appended stays, and is not asked for again.
  ExportResult refuse_for_memory() noexcept;

 private:
  ExportResult refuse(bool finished);

  std::string path_;
  std::shared_ptr<const FolderFiles> folder_;  // until the file has its name
  const char* exporter_;
  WholeFile file_;
  std::unordered_set<std::uint64_t> taken_;  // since the last `ok`
  bool has_head_ = false;
  bool has_tail_ = false;
  bool committed_ = false;
  int failures_ = 0;  // in a row
};

}  // namespace detail
TAKT_END_NAMESPACE
