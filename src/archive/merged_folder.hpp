// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include "archive/merged_file.hpp"
#include "base/readable_folder.hpp"

#include <memory>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

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
