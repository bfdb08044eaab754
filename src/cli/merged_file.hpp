// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/file.hpp"
#include "base/folder_files.hpp"
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

/// The first entry of a merged file, by which it is told from other tar files.
inline constexpr const char* kMergedMark = "takt-merged.json";
inline constexpr const char* kMergedMarkText = "{\"schema\": \"takt-merged/1\"}\n";

/// Runs of any number of ranks in one file: a tar file with a folder for each run, in that one for each rank, and in
/// that the rank's files. What is where is read once, from the headers; the files are read in place. Whatever is in it,
/// names lead nowhere else. A value that does not change; reading it is for any thread.
class MergedFile {
 public:
  struct File {
    std::uint64_t begin = 0;
    std::uint64_t bytes = 0;
    std::int64_t changed_unix_ns = 0;
  };
  using Files = std::map<std::string, File>;
  using Ranks = std::map<std::string, Files>;
  using Runs = std::map<std::string, Ranks>;

  /// More is not read.
  static constexpr std::size_t kMostEntries = std::size_t{1} << 20U;

  /// Whether the open file begins as a merged file does.
  static bool is_one(const Descriptor& file);
  /// \param path of the file, for people. \throws takt::Error where it is of a newer version. REQUIRES: is_one(file).
  MergedFile(Descriptor file, std::string path);

  const std::string& path() const noexcept { return path_; }
  const Runs& runs() const noexcept { return runs_; }
  /// Appends what the file holds from `offset` on, `most` bytes of it at most. False, with errno, where it cannot be
  /// read.
  bool read(const File& file, std::uint64_t offset, std::size_t most, std::string& bytes) const;
  /// What is wrong with it: damaged and missing bytes, names that cannot be, entries that are none of Takt's.
  std::vector<std::string> remarks() const;
  /// Whether nothing of it is damaged or cut off.
  bool is_whole() const noexcept { return of_tar_.empty(); }

 private:
  void check_version() const;
  void add(const TarEntry& entry, std::uint64_t begin);

  Descriptor file_;
  std::string path_;
  Runs runs_;
  std::vector<std::string> of_tar_;
  FewRemarks of_entries_;
};

/// The folder of one rank inside a merged file. One thread at a time.
class MergedFolder final : public ReadableFolder {
 public:
  /// One that is not in the file is empty.
  MergedFolder(std::shared_ptr<const MergedFile> file, const std::string& run, const std::string& rank);

  const std::string& path() const noexcept override { return path_; }
  using ReadableFolder::path;
  std::vector<std::string> names() const override;
  bool look(const std::string& name, struct stat& status) const override;
  bool read(const std::string& name, std::uint64_t offset, std::size_t most, std::string& bytes) const override;

 private:
  const MergedFile::File* find(const std::string& name) const;

  std::shared_ptr<const MergedFile> file_;
  std::string path_;
  const MergedFile::Files* files_ = nullptr;
};

}  // namespace detail
TAKT_END_NAMESPACE
