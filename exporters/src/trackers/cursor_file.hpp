// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include "base/folder_files.hpp"
#include "trackers/file_lease.hpp"

#include <cstddef>
#include <memory>
#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// The file in a run folder that says how far the run was delivered to a tracker, for whoever goes on. What is in it is
/// the tracker's; no credentials. One thread at a time.
class CursorFile {
 public:
  /// From now on save() writes there.
  /// \param lease without which save() writes nothing, as the file is another process's by then; it outlives the last
  /// save(). nullptr: none is asked for.
  void keep(const std::string& file, FileLease* lease = nullptr);
  void keep(std::shared_ptr<const FolderFiles> folder, const std::string& name, FileLease* lease = nullptr);
  bool is_kept() const noexcept { return folder_ != nullptr; }

  /// For people. REQUIRES: is_kept().
  std::string path() const { return folder_->path(name_); }
  std::string directory() const { return folder_->path(); }
  /// The folder `directory`: where that is the one of the cursor, the same as was opened, whatever its path leads to by
  /// now.
  std::shared_ptr<const FolderFiles> folder_at(const std::string& directory) const;

  /// Writes `text`, unless the file has it. Returns whether it has now; problem() says why not. REQUIRES: is_kept().
  bool save(std::string text);
  /// Why the last save() failed; empty where it did not.
  const std::string& problem() const noexcept { return problem_; }

 private:
  std::shared_ptr<const FolderFiles> folder_;
  std::string name_;
  FileLease* lease_ = nullptr;
  std::string saved_;
  std::string problem_;
};

}  // namespace detail
TAKT_END_NAMESPACE
