// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "trackers/cursor_file.hpp"

#include "base/file.hpp"

#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {

void CursorFile::keep(const std::string& file) {
  keep(std::make_shared<FolderFiles>(folder_part(file)), name_part(file));
}

void CursorFile::keep(std::shared_ptr<const FolderFiles> folder, const std::string& name) {
  folder_ = std::move(folder);
  name_ = name;
}

std::shared_ptr<const FolderFiles> CursorFile::folder_at(const std::string& directory) const {
  return is_kept() && folder_->path() == directory ? folder_ : std::make_shared<FolderFiles>(directory);
}

bool CursorFile::save(std::string text) {
  if (text == saved_) { return true; }
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
