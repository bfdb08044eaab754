// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "archive/merged_folder.hpp"

#include "base/nanoseconds.hpp"

#include <cerrno>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {

MergedFolder::MergedFolder(std::shared_ptr<const MergedFile> file, const std::string& run, const std::string& rank)
    : file_(std::move(file)), path_(file_->path() + "/" + run + "/" + rank) {
  const auto ranks = file_->runs().find(run);
  if (ranks == file_->runs().end()) { return; }
  const auto files = ranks->second.find(rank);
  if (files != ranks->second.end()) { files_ = &files->second; }
}

std::vector<std::string> MergedFolder::names() const {
  std::vector<std::string> all;
  if (files_ == nullptr) { return all; }
  for (const auto& [name, file] : *files_) { all.push_back(name); }
  return all;
}

const MergedFile::File* MergedFolder::find(const std::string& name) const {
  if (files_ != nullptr) {
    const auto found = files_->find(name);
    if (found != files_->end()) { return &found->second; }
  }
  errno = ENOENT;
  return nullptr;
}

bool MergedFolder::look(const std::string& name, struct stat& status) const {
  const MergedFile::File* const file = find(name);
  if (file == nullptr) { return false; }
  status = {};
  status.st_mode = S_IFREG | S_IRUSR;
  status.st_size = static_cast<off_t>(file->bytes);
  status.st_mtim.tv_sec = file->changed_unix_ns / kSecondNs;
  status.st_mtim.tv_nsec = file->changed_unix_ns % kSecondNs;
  return true;
}

bool MergedFolder::read(const std::string& name, std::uint64_t offset, std::size_t most, std::string& bytes) const {
  const MergedFile::File* const file = find(name);
  return file != nullptr && file_->read(*file, offset, most, bytes);
}

}  // namespace detail
TAKT_END_NAMESPACE
