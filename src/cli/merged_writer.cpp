// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/merged_writer.hpp"

#include <takt/error.hpp>

#include "base/text.hpp"
#include "cli/merged_file.hpp"
#include "cli/tar.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr std::size_t kCopiedAtOnce = std::size_t{1} << 20U;

std::int64_t changed_ns(const struct stat& status) {
  return status.st_mtim.tv_sec * kSecondNs + status.st_mtim.tv_nsec;
}

}  // namespace

MergedWriter::MergedWriter(const std::string& path) : file_("name another file with -o") {
  if (!file_.open(path)) { throw Error(file_.error()); }
  const std::string text = kMergedMarkText;
  write(tar_header({kMergedMark, TarEntry::Kind::file, text.size(), 0}));
  write(text + std::string(tar_blocks(text.size()) - text.size(), '\0'));
}

void MergedWriter::write(const std::string& bytes) {
  bytes_ += bytes.size();
  if (file_.write(bytes)) { return; }
  const std::string why = file_.error();
  file_.discard();
  throw Error(why);
}

void MergedWriter::add_folder(const std::string& path, std::int64_t changed_unix_ns) {
  write(tar_header({path, TarEntry::Kind::folder, 0, changed_unix_ns}));
}

bool MergedWriter::add_file(const std::string& path, const ReadableFolder& from, const std::string& name,
                            std::string& why) {
  struct stat status = {};
  std::string part;
  if (!from.look(name, status) || !from.read(name, 0, kCopiedAtOnce, part)) {
    why = "cannot be read: " + std::system_category().message(errno);
    return false;
  }
  const auto bytes = static_cast<std::uint64_t>(std::max<off_t>(status.st_size, 0));
  write(tar_header({path, TarEntry::Kind::file, bytes, changed_ns(status)}));
  std::uint64_t done = 0;
  bool good = true;
  while (good && !part.empty() && done < bytes) {
    part.resize(static_cast<std::size_t>(std::min<std::uint64_t>(part.size(), bytes - done)));  // it may grow meanwhile
    write(part);
    done += part.size();
    part.clear();
    if (done < bytes) { good = from.read(name, done, kCopiedAtOnce, part); }
  }
  if (!good) { why = "cannot be read to its end: " + std::system_category().message(errno); }
  if (good && done < bytes) { why = "became shorter while it was read"; }
  for (std::uint64_t left = tar_blocks(bytes) - done; left > 0;) {
    const std::uint64_t now = std::min<std::uint64_t>(left, kCopiedAtOnce);
    write(std::string(static_cast<std::size_t>(now), '\0'));
    left -= now;
  }
  return why.empty();
}

void MergedWriter::finish() {
  write(std::string(kTarEndBytes, '\0'));
  if (file_.commit()) { return; }
  const std::string reason = file_.error();
  file_.discard();
  throw Error(reason);
}

}  // namespace detail
TAKT_END_NAMESPACE
