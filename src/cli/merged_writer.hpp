// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include "base/file.hpp"
#include "base/folder_files.hpp"

#include <cstdint>
#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Writes a merged file, which appears when it is whole. Equal folders give equal bytes. One thread at a time.
class MergedWriter {
 public:
  /// \throws takt::Error where the file cannot be written, as all of these do.
  explicit MergedWriter(const std::string& path);

  /// A folder for a run, or "<run>/<rank>".
  void add_folder(const std::string& path, std::int64_t changed_unix_ns);
  /// Copies a file as it stands, and puts it at `path`, which is "<run>/<rank>/<name>". False: it cannot be read, or
  /// not to its end; `why` says so, and what is missing at its end is zeros.
  bool add_file(const std::string& path, const ReadableFolder& from, const std::string& name, std::string& why);
  void finish();

  std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  void write(const std::string& bytes);

  WholeFile file_;
  std::uint64_t bytes_ = 0;
};

}  // namespace detail
TAKT_END_NAMESPACE
