// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/merged_file.hpp"

#include "base/file.hpp"
#include "base/folder_files.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "cli/tar.hpp"

#include <takt/error.hpp>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr std::string_view kAnySchema = "{\"schema\": \"takt-merged/";
constexpr std::string_view kRankPrefix = "rank-";
constexpr std::size_t kLongestEntryName = 255;  // of one folder or file

/// "a", "b", "c" of "a/b/c"; none where one of them cannot be the name of an entry.
std::vector<std::string> entry_names(std::string_view path) {
  std::vector<std::string> names;
  while (true) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    names.emplace_back(path.substr(0, slash));
    if (!is_entry_name(names.back()) || names.back().size() > kLongestEntryName) { return {}; }
    if (slash == path.size()) { return names; }
    path.remove_prefix(slash + 1);
  }
}

}  // namespace

bool MergedFile::is_one(const Descriptor& file) {
  std::string begin;
  TarEntry mark;
  return file.is_open() && read_at(file.number(), 0, 2 * kTarBlock, begin) && begin.size() == 2 * kTarBlock &&
         parse_tar_header(std::string_view(begin).substr(0, kTarBlock), mark) && mark.path == kMergedMark &&
         mark.kind == TarEntry::Kind::file &&
         std::string_view(begin).substr(kTarBlock, kAnySchema.size()) == kAnySchema;
}

MergedFile::MergedFile(Descriptor file, std::string path) : file_(std::move(file)), path_(std::move(path)) {
  check_version();
  TarReader reader(file_.number());
  TarEntry entry;
  std::uint64_t begin = 0;
  std::size_t entries = 0;
  while (reader.next(entry, begin)) {
    if (++entries > kMostEntries) {
      of_entries_.add(detail::format("it has more than {} entries; the others are not read", kMostEntries));
      break;
    }
    add(entry, begin);
  }
  of_tar_ = reader.remarks().lines(printable(path_));
}

void MergedFile::check_version() const {
  std::string text;
  const std::string_view known(kMergedMarkText);
  if (read_at(file_.number(), kTarBlock, known.size(), text) && text == known) { return; }
  throw Error(printable(path_) + " is of a newer version than this one; read it with a newer Takt");
}

void MergedFile::add(const TarEntry& entry, std::uint64_t begin) {
  std::string_view path = entry.path;
  const bool is_folder = entry.kind == TarEntry::Kind::folder;
  if (is_folder && !path.empty() && path.back() == '/') { path.remove_suffix(1); }
  const std::vector<std::string> names = entry_names(path);
  const std::string shown = fit_end(printable(entry.path), 120);
  const bool of_takt = names.size() < 2 || names[1].rfind(kRankPrefix, 0) == 0;
  if (names.empty()) {
    of_entries_.add(detail::format("{} is a name that cannot be; it is passed over", shown));
  } else if (is_folder && names.size() == 1) {
    runs_.try_emplace(names[0]);
  } else if (is_folder && names.size() == 2 && of_takt) {
    runs_[names[0]].try_emplace(names[1]);
  } else if (!is_folder && names.size() == 3 && of_takt) {
    const bool is_new =
        runs_[names[0]][names[1]].insert_or_assign(names[2], File{begin, entry.bytes, entry.changed_unix_ns}).second;
    if (!is_new) {
      of_entries_.add(detail::format("{} is in it twice; the last one counts, as it does for tar", shown));
    }
  } else if (path != kMergedMark) {
    of_entries_.add(detail::format("{} is nothing of Takt's; it is passed over", shown));
  }
}

bool MergedFile::read(const File& file, std::uint64_t offset, std::size_t most, std::string& bytes) const {
  const std::uint64_t left = file.bytes - std::min(offset, file.bytes);
  return read_at(file_.number(), file.begin + std::min(offset, file.bytes),
                 static_cast<std::size_t>(std::min<std::uint64_t>(most, left)), bytes);
}

std::vector<std::string> MergedFile::remarks() const {
  std::vector<std::string> all = of_tar_;
  const std::vector<std::string> more = of_entries_.lines(printable(path_));
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

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
