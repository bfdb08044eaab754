// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include "archive/merged_file.hpp"
#include "base/readable_folder.hpp"

#include <memory>
#include <string>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// Where the files of one rank lie: in a folder, or in a merged file. A value.
class RankFolder {
 public:
  RankFolder() = default;
  /// A folder. It need not be there.
  RankFolder(std::string path);  // NOLINT(google-explicit-constructor): as it is mostly known by its path
  RankFolder(std::shared_ptr<const detail::MergedFile> file, std::string run, std::string rank);

  /// "takt-runs/digits-1/rank-0-0-17"; in a merged file "all.tar/digits-1/rank-0-0-17".
  const std::string& path() const noexcept { return path_; }
  /// "rank-0-0-17".
  std::string name() const;
  /// The merged file in which it is; nullptr: in none.
  const std::shared_ptr<const detail::MergedFile>& file() const noexcept { return file_; }

  /// Its files, which stay those of this folder whatever becomes of its path.
  std::shared_ptr<const detail::ReadableFolder> open() const;

 private:
  std::string path_;
  std::shared_ptr<const detail::MergedFile> file_;
  std::string run_;
  std::string rank_;
};

/// The merged file of this name, where a link is followed; nullptr: there is none.
/// \throws takt::Error where it is of a newer version.
std::shared_ptr<const detail::MergedFile> open_merged(const std::string& path);

}  // namespace cli
TAKT_END_NAMESPACE
