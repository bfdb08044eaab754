// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/merged_file.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "cli/tar.hpp"

#include <takt/error.hpp>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include <sys/stat.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr std::size_t kCopiedAtOnce = std::size_t{1} << 20U;
constexpr std::size_t kLongestEntryName = 255;  // bytes of one path component
// Maximum size for a path of the longest allowed components, and a time.
constexpr std::uint64_t kLongestExtension = std::uint64_t{16} << 10U;

/// Returns "a", "b", "c" for "a/b/c"; empty if a component is not a valid name.
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

/// Reads exactly `count` bytes. Returns false if they are not all there.
bool read_exactly(const Descriptor& file, std::uint64_t at, std::uint64_t count, std::string& bytes) {
  bytes.clear();
  return read_at(file.number(), at, static_cast<std::size_t>(count), bytes) && bytes.size() == count;
}

std::string shown_entry(const TarEntry& entry) { return fit_end(printable(entry.path), 120); }

class MergedDirectory final : public ReadableDirectory {
 public:
  MergedDirectory(std::shared_ptr<const MergedFile> file, const std::string& path, MergedFile::Files files)
      : file_(std::move(file)), path_(path), files_(std::move(files)) {}

  const std::string& path() const noexcept override { return path_; }

  std::vector<std::string> names() const override {
    std::vector<std::string> all;
    for (const auto& [name, file] : files_) { all.push_back(name); }
    return all;
  }

  bool look(const std::string& name, struct stat& status) const override {
    const auto found = files_.find(name);
    errno = ENOENT;
    if (found == files_.end()) { return false; }
    status = {};
    status.st_mode = S_IFREG | S_IRUSR;
    status.st_size = static_cast<off_t>(found->second.bytes);
    status.st_mtim.tv_sec = found->second.changed_unix_ns / kSecondNs;
    status.st_mtim.tv_nsec = found->second.changed_unix_ns % kSecondNs;
    return true;
  }

  bool read(const std::string& name, std::uint64_t offset, std::size_t max, std::string& bytes) const override {
    const auto found = files_.find(name);
    errno = ENOENT;
    if (found == files_.end()) { return false; }
    const std::uint64_t from = std::min(offset, found->second.bytes);
    return read_at(file_->file().number(), found->second.begin + from,
                   static_cast<std::size_t>(std::min<std::uint64_t>(max, found->second.bytes - from)), bytes);
  }

 private:
  std::shared_ptr<const MergedFile> file_;
  std::string path_;
  MergedFile::Files files_;
};

}  // namespace

std::shared_ptr<const ReadableDirectory> merged_directory(std::shared_ptr<const MergedFile> file,
                                                          const std::string& run, const std::string& rank) {
  const auto ranks = file->runs().find(run);
  MergedFile::Files files;
  if (ranks != file->runs().end() && ranks->second.count(rank) != 0) { files = ranks->second.at(rank); }
  const std::string path = file->path() + "/" + run + "/" + rank;
  return std::make_shared<MergedDirectory>(std::move(file), path, std::move(files));
}

bool MergedFile::is_one(const Descriptor& file) {
  constexpr std::string_view kAnySchema = "{\"schema\": \"takt-merged/";
  std::string begin;
  TarEntry mark;
  return file.is_open() && read_exactly(file, 0, 2 * kTarBlock, begin) &&
         parse_tar_header(std::string_view(begin).substr(0, kTarBlock), mark) && mark.path == kMergedMark &&
         mark.type == TarEntry::kFile && begin.compare(kTarBlock, kAnySchema.size(), kAnySchema) == 0;
}

MergedFile::MergedFile(Descriptor file, std::string path) : file_(std::move(file)), path_(std::move(path)) {
  std::string text;
  const std::string_view known(kMergedMarkText);
  if (!read_exactly(file_, kTarBlock, known.size(), text) || text != known) {
    throw Error(printable(path_) + " was written by a newer version; read it with a newer Takt");
  }
  read_entries();
  if (unreported_ > 0) {
    warnings_.push_back(detail::format("{}: {} more such warnings", printable(path_), unreported_));
  }
}

void MergedFile::warning(const std::string& line) {
  if (warnings_.size() < kMaxWarnings) {
    warnings_.push_back(printable(path_) + ": " + line);
  } else {
    ++unreported_;
  }
}

void MergedFile::report_damage(const std::string& line) {
  is_whole_ = false;
  warning(line);
}

/// Reads from header to header; after a damaged one, searches block by block for the next one.
void MergedFile::read_entries() {
  struct stat status = {};
  ::fstat(file_.number(), &status);
  const auto file_bytes = static_cast<std::uint64_t>(status.st_size);
  const std::string end_mark(kTarBlock, '\0');
  std::string block;
  std::string extension;  // for the next entry
  std::size_t entries = 0;
  std::uint64_t at = 0;
  std::uint64_t damage = 0;  // start of damaged bytes; equal to `at` if there are none
  const auto report_passed_over = [&] {
    if (damage == at) { return; }
    report_damage(
        detail::format("no entry at byte {}, where one should start; {} bytes are skipped", damage, at - damage));
  };
  while (read_exactly(file_, at, kTarBlock, block) && block != end_mark) {
    TarEntry entry;
    if (!parse_tar_header(block, entry)) {
      at += kTarBlock;
      extension.clear();
      continue;
    }
    report_passed_over();
    const std::uint64_t begin = at + kTarBlock;
    extend(entry, at, extension);
    limit(entry, file_bytes - std::min(begin, file_bytes));
    const bool is_entry = entry.type == TarEntry::kFile || entry.type == TarEntry::kDirectory;
    if (is_entry && ++entries > kMaxEntries) {
      return warning(detail::format("it has more than {} entries; the rest is not read", kMaxEntries));
    }
    if (is_entry) { add(entry, begin); }
    at = damage = begin + tar_blocks(entry.bytes);
  }
  report_passed_over();
  if (block != end_mark) { report_damage("the end marker is missing: the file is truncated"); }
}

/// Applies the preceding extended header to the entry, or reads the entry if it is an extended header.
void MergedFile::extend(TarEntry& entry, std::uint64_t at, std::string& extension) {
  if (entry.type != TarEntry::kExtension) {
    if (parse_tar_extension(std::exchange(extension, ""), entry)) { return; }
    return report_damage(detail::format("the extended header before byte {} cannot be read", at));
  }
  if (entry.bytes <= kLongestExtension && read_exactly(file_, at + kTarBlock, entry.bytes, extension)) { return; }
  extension.clear();
  report_damage(detail::format("the extended header at byte {} cannot be read", at));
}

/// Limits the entry to the remaining bytes. An entry that is not a file has no bytes, whatever its header says.
void MergedFile::limit(TarEntry& entry, std::uint64_t left) {
  const bool is_extension = entry.type == TarEntry::kExtension || entry.type == TarEntry::kDefaults;
  if (!is_extension && entry.type != TarEntry::kFile) { entry.bytes = 0; }
  if (!is_extension && entry.type != TarEntry::kFile && entry.type != TarEntry::kDirectory) {
    report_damage(shown_entry(entry) + " is a link or a device; it is skipped");
  }
  if (entry.bytes <= left) { return; }
  report_damage(detail::format("{} is truncated: of {} bytes {} are present", shown_entry(entry), entry.bytes, left));
  entry.bytes = left;
}

void MergedFile::add(const TarEntry& entry, std::uint64_t begin) {
  std::string_view path = entry.path;
  const bool is_directory = entry.type == TarEntry::kDirectory;
  if (is_directory && !path.empty() && path.back() == '/') { path.remove_suffix(1); }
  const std::vector<std::string> names = entry_names(path);
  const bool of_takt = names.size() < 2 || names[1].rfind("rank-", 0) == 0;
  if (names.empty()) {
    warning(shown_entry(entry) + " is an invalid name; it is skipped");
  } else if (is_directory && names.size() == 1) {
    runs_.try_emplace(names[0]);
  } else if (is_directory && names.size() == 2 && of_takt) {
    runs_[names[0]].try_emplace(names[1]);
  } else if (!is_directory && names.size() == 3 && of_takt) {
    const File file = {begin, entry.bytes, entry.changed_unix_ns};
    if (!runs_[names[0]][names[1]].insert_or_assign(names[2], file).second) {
      warning(shown_entry(entry) + " is in the file twice; the last one is used, as tar does");
    }
  } else if (path != kMergedMark) {
    warning(shown_entry(entry) + " was not written by Takt; it is skipped");
  }
}

MergedWriter::MergedWriter(const std::string& path) : file_("name another file with -o") {
  if (!file_.open(path)) { throw Error(file_.error()); }
  const std::string text = kMergedMarkText;
  write(tar_header({kMergedMark, TarEntry::kFile, text.size(), 0}) + text);
  write_zeros(tar_blocks(text.size()) - text.size());
}

void MergedWriter::write(const std::string& bytes) {
  bytes_ += bytes.size();
  if (!file_.write(bytes)) { fail(); }
}

void MergedWriter::write_zeros(std::uint64_t count) {
  for (std::uint64_t now = 0; count > 0; count -= now) {
    now = std::min<std::uint64_t>(count, kCopiedAtOnce);
    write(std::string(static_cast<std::size_t>(now), '\0'));
  }
}

void MergedWriter::fail() {
  const std::string why = file_.error();
  file_.discard();
  throw Error(why);
}

void MergedWriter::add_directory(const std::string& path, std::int64_t changed_unix_ns) {
  write(tar_header({path, TarEntry::kDirectory, 0, changed_unix_ns}));
}

bool MergedWriter::add_file(const std::string& path, const ReadableDirectory& from, const std::string& name,
                            std::string& why) {
  struct stat status = {};
  std::string part;
  if (!from.look(name, status) || !from.read(name, 0, kCopiedAtOnce, part)) {
    why = "cannot be read: " + std::system_category().message(errno);
    return false;
  }
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  write(tar_header({path, TarEntry::kFile, bytes, status.st_mtim.tv_sec * kSecondNs + status.st_mtim.tv_nsec}));
  std::uint64_t done = 0;
  bool good = true;
  while (good && !part.empty() && done < bytes) {
    part.resize(static_cast<std::size_t>(std::min<std::uint64_t>(part.size(), bytes - done)));  // the file may grow
    write(part);
    done += part.size();
    part.clear();
    if (done < bytes) { good = from.read(name, done, kCopiedAtOnce, part); }
  }
  if (!good) { why = "cannot be read completely: " + std::system_category().message(errno); }
  if (good && done < bytes) { why = "shrank while it was read"; }
  write_zeros(tar_blocks(bytes) - done);
  return why.empty();
}

void MergedWriter::finish() {
  write_zeros(2 * kTarBlock);
  if (!file_.commit()) { fail(); }
}

}  // namespace detail
TAKT_END_NAMESPACE
