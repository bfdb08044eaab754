// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/directory_files.hpp"
#include "base/file.hpp"
#include "cli/tar.hpp"

#include <takt/config.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// First entry of a merged file, which distinguishes it from other tar files.
inline constexpr const char* kMergedMark = "takt-merged.json";
inline constexpr const char* kMergedMarkText = "{\"schema\": \"takt-merged/1\"}\n";

/// Runs of any number of ranks in one file: a tar file with a directory per run, a subdirectory per rank, and the
/// rank's files in it. The headers are read once; files are read in place. Names cannot refer to anything outside the
/// file. Immutable; any thread may read it.
class MergedFile {
 public:
  struct File {
    std::uint64_t begin = 0;
    std::uint64_t bytes = 0;
    std::int64_t changed_unix_ns = 0;
  };
  using Files = std::map<std::string, File>;
  using Runs = std::map<std::string, std::map<std::string, Files>>;

  /// Maximum numbers of entries read and of warnings reported.
  static constexpr std::size_t kMaxEntries = std::size_t{1} << 20U;
  static constexpr std::size_t kMaxWarnings = 32;

  /// Returns true if the open file starts like a merged file.
  static bool is_one(const Descriptor& file);
  /// \param path of the file, for display. \throws takt::Error if it is of a newer version. REQUIRES: is_one(file).
  MergedFile(Descriptor file, std::string path);

  const Descriptor& file() const noexcept { return file_; }
  const std::string& path() const noexcept { return path_; }
  const Runs& runs() const noexcept { return runs_; }
  /// Damaged and missing bytes, invalid names, and entries that were not written by Takt.
  const std::vector<std::string>& warnings() const noexcept { return warnings_; }
  /// Returns true if no part of it is damaged or truncated.
  bool is_whole() const noexcept { return is_whole_; }

 private:
  void read_entries();
  void extend(TarEntry& entry, std::uint64_t at, std::string& extension);
  void limit(TarEntry& entry, std::uint64_t left);
  void add(const TarEntry& entry, std::uint64_t begin);
  void warning(const std::string& line);
  void report_damage(const std::string& line);

  Descriptor file_;
  std::string path_;
  Runs runs_;
  std::vector<std::string> warnings_;
  std::uint64_t unreported_ = 0;
  bool is_whole_ = true;
};

/// Returns the directory of one rank in a merged file; an empty directory if it does not exist.
std::shared_ptr<const ReadableDirectory> merged_directory(std::shared_ptr<const MergedFile> file,
                                                          const std::string& run, const std::string& rank);

/// Writes a merged file, which appears when it is complete. Equal directories give equal bytes. One thread at a time.
class MergedWriter {
 public:
  /// \throws takt::Error if the file cannot be written, as all of these do.
  explicit MergedWriter(const std::string& path);

  /// Adds a directory for a run, or "<run>/<rank>".
  void add_directory(const std::string& path, std::int64_t changed_unix_ns);
  /// Copies a file to `path`, which is "<run>/<rank>/<name>". If it cannot be read completely, returns false, sets
  /// `why`, and fills missing bytes with zeros.
  bool add_file(const std::string& path, const ReadableDirectory& from, const std::string& name, std::string& why);
  void finish();

  std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  void write(const std::string& bytes);
  void write_zeros(std::uint64_t count);
  [[noreturn]] void fail();

  WholeFile file_;
  std::uint64_t bytes_ = 0;
};

}  // namespace detail
TAKT_END_NAMESPACE
