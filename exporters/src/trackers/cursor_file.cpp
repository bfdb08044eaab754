// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "trackers/cursor_file.hpp"

#include "base/file.hpp"

#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {

void CursorFile::keep(const std::string& file, FileLease* lease) {
  keep(std::make_shared<FolderFiles>(folder_part(file)), name_part(file), lease);
}

void CursorFile::keep(std::shared_ptr<const FolderFiles> folder, const std::string& name, FileLease* lease) {
  folder_ = std::move(folder);
  name_ = name;
  lease_ = lease;
}

std::shared_ptr<const FolderFiles> CursorFile::folder_at(const std::string& directory) const {
  return is_kept() && folder_->path() == directory ? folder_ : std::make_shared<FolderFiles>(directory);
}

bool CursorFile::save(std::string text) {
  if (text == saved_) { return true; }
  if (lease_ != nullptr && !lease_->confirm()) {
    problem_ = lease_->problem();
    return false;
  }
  WholeFile file;
  if (!file.open(folder_, name_) || !file.write(text) || !file.commit()) {
    problem_ = file.error();
    return false;
  }
  saved_ = std::move(text);
  problem_.clear();
  return true;
}

}  // namespace detail
TAKT_END_NAMESPACE
