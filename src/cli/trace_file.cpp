// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/trace_file.hpp"

#include <takt/error.hpp>

#include "base/folder_files.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "trackers/time_line_file.hpp"

#include <filesystem>
#include <system_error>

#include <sys/stat.h>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

/// Run folders have such names; one that somebody has renamed may have another.
std::string plain_name(std::string name) {
  constexpr const char* kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  for (std::size_t at = name.find_first_not_of(kPlain); at != std::string::npos; at = name.find_first_not_of(kPlain)) {
    name[at] = '_';
  }
  return name.empty() || name.front() == '.' || name.front() == '-' ? "run" + name : name;
}

/// The name of the folder that the rank's is in.
std::string run_name(const RankFolder& folder) {
  std::filesystem::path path = folder.path();
  std::error_code error;  // of a folder that has gone: then its name is odd, and reading it fails
  if (folder.file() == nullptr) { path = std::filesystem::canonical(path, error); }
  return path.parent_path().filename().string();
}

}  // namespace

std::string trace_file(const std::string& given, const RankFolder& folder, int rank) {
  std::string file = given;
  if (file.empty()) {
    file = plain_name(run_name(folder)) + (rank < 0 ? "" : detail::format(".rank-{}", rank)) + ".trace.json";
  }
  const detail::FolderFiles files(detail::folder_part(file));
  const std::string name = detail::name_part(file);
  struct stat status = {};
  const bool is_there = files.look(name, status);
  const bool is_empty = S_ISREG(status.st_mode) && status.st_size == 0;  // as mktemp leaves it
  if (is_there && !is_empty && !detail::open_time_line(files, name).is_open()) {
    throw Error(
        detail::format("{} is there, and is no time line of Takt's: it is left alone; name another file with -o",
                       detail::printable(file)));
  }
  return file;
}

}  // namespace cli
TAKT_END_NAMESPACE
