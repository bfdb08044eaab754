// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/rank_folder.hpp"

#include "archive/merged_folder.hpp"
#include "base/folder_files.hpp"

#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>

TAKT_BEGIN_NAMESPACE
namespace cli {

RankFolder::RankFolder(std::string path) : path_(std::move(path)) {}

RankFolder::RankFolder(std::shared_ptr<const detail::MergedFile> file, std::string run, std::string rank)
    : path_(file->path() + "/" + run + "/" + rank),
      file_(std::move(file)),
      run_(std::move(run)),
      rank_(std::move(rank)) {}

std::string RankFolder::name() const { return detail::name_part(path_); }

std::shared_ptr<const detail::ReadableFolder> RankFolder::open() const {
  if (file_ != nullptr) { return std::make_shared<detail::MergedFolder>(file_, run_, rank_); }
  return std::make_shared<detail::FolderFiles>(path_);
}

std::shared_ptr<const detail::MergedFile> open_merged(const std::string& path) {
  std::error_code error;
  const std::string real = std::filesystem::canonical(path, error).string();
  if (error) { return nullptr; }
  detail::Descriptor file = detail::FolderFiles(detail::folder_part(real)).open(detail::name_part(real), O_RDONLY);
  if (!detail::MergedFile::is_one(file)) { return nullptr; }
  return std::make_shared<detail::MergedFile>(std::move(file), path);
}

}  // namespace cli
TAKT_END_NAMESPACE
