// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/run_directory.hpp"

#include "base/directory_files.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "cli/merged_file.hpp"
#include "cli/rank.hpp"
#include "journal/journal_format.hpp"

#include <takt/error.hpp>
#include <takt/session.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>

TAKT_BEGIN_NAMESPACE
namespace cli {

RankDirectory::RankDirectory(std::string path) : path_(std::move(path)) {}

RankDirectory::RankDirectory(std::shared_ptr<const detail::MergedFile> file, std::string run, std::string rank)
    : path_(file->path() + "/" + run + "/" + rank),
      file_(std::move(file)),
      run_(std::move(run)),
      rank_(std::move(rank)) {}

std::string RankDirectory::name() const { return detail::name_part(path_); }

std::shared_ptr<const detail::ReadableDirectory> RankDirectory::open() const {
  if (file_ != nullptr) { return detail::merged_directory(file_, run_, rank_); }
  return std::make_shared<detail::DirectoryFiles>(path_);
}

std::shared_ptr<const detail::MergedFile> open_merged(const std::string& path) {
  std::error_code error;
  const std::string real = std::filesystem::canonical(path, error).string();
  if (error) { return nullptr; }
  detail::Descriptor file =
      detail::DirectoryFiles(detail::directory_part(real)).open(detail::name_part(real), O_RDONLY);
  if (!detail::MergedFile::is_one(file)) { return nullptr; }
  return std::make_shared<detail::MergedFile>(std::move(file), path);
}

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxNames = 3;
constexpr std::size_t kLongestName = 40;
constexpr std::size_t kMaxEntries = 10'000;  // the directory may be large, such as a home directory

/// Returns sorted names, at most kMaxEntries.
std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end && names.size() < kMaxEntries;
       at.increment(error)) {
    names.push_back(at->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// Returns true for other files that a run writes into its directory.
bool is_of_takt(std::string_view name) {
  constexpr std::string_view kNames[] = {"summary.json", "steps.csv",   "trace.json", "mlflow.json",
                                         "mlflow.lease", "wandb.lease", "wandb.json"};
  return std::any_of(std::begin(kNames), std::end(kNames), [&](std::string_view each) {
    return name == each || (name.size() == each.size() + 5 && name.substr(0, each.size()) == each &&
                            name.substr(each.size()) == ".part");
  });
}

/// Formats "a, b, c and 2 more".
std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t at = 0; at < std::min(names.size(), kMaxNames); ++at) {
    text += (at == 0 ? "" : ", ") + detail::fit(detail::printable(names[at]), kLongestName);
  }
  return names.size() > kMaxNames ? text + " and " + std::to_string(names.size() - kMaxNames) + " more" : text;
}

}  // namespace

std::string why_no_journal(const RankDirectory& directory) {
  const std::string where = detail::printable(directory.path());
  const std::vector<std::string> names =
      directory.file() == nullptr ? names_in(directory.path()) : directory.open()->names();
  if (names.empty()) {
    return where +
           " is empty: the program that created it wrote no data. Either its disk was unavailable, or it kept no "
           "journal (TAKT_JOURNAL=0, TAKT_FILES=0) and did not end normally";
  }
  if (std::none_of(names.begin(), names.end(), [](const std::string& each) { return is_of_takt(each); })) {
    return where + " contains no run of Takt, but " + listed(names);
  }
  std::string text =
      where +
      " belongs to a run without a journal: it was switched off (TAKT_JOURNAL=0), or removed; found: " + listed(names);
  if (std::binary_search(names.begin(), names.end(), "summary.json")) { text += ". summary.json has the totals"; }
  return text;
}

std::string what_else_is_in(const std::string& directory) {
  const std::vector<std::string> names = names_in(directory);
  return names.empty() ? "is empty" : "contains no run of Takt, but " + listed(names);
}

namespace {

namespace fs = std::filesystem;
using RunDirectories = std::vector<RunDirectory>;

bool exists_as_directory(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

/// Returns the sorted names of entries whose name and status are wanted. Links below the named directory are not
/// followed: they could lead anywhere, and a delivery writes into run directories.
template <class Wanted>
std::vector<std::string> entries(const detail::ReadableDirectory& directory, Wanted wanted) {
  std::vector<std::string> found;
  for (const std::string& name : directory.names()) {
    struct stat status = {};
    if (directory.look(name, status) && wanted(name, status)) { found.push_back(name); }
  }
  std::sort(found.begin(), found.end());
  return found;
}

template <class Wanted>
std::vector<fs::path> paths_in(const fs::path& directory, Wanted wanted) {
  std::vector<fs::path> paths;
  for (const std::string& name : entries(detail::DirectoryFiles(directory.string()), wanted)) {
    paths.push_back(directory / name);
  }
  return paths;
}

bool has_rank_name(const std::string& name) { return name.rfind("rank-", 0) == 0; }

bool is_segment(const std::string& name, const struct stat& status) {
  std::uint32_t number = 0;
  return S_ISREG(status.st_mode) && detail::parse_segment_name(name, number);
}

bool is_rank(const std::string& name, const struct stat& status) {
  return has_rank_name(name) && S_ISDIR(status.st_mode);
}

bool is_linked_rank(const std::string& name, const struct stat& status) {
  return has_rank_name(name) && S_ISLNK(status.st_mode);
}

bool is_inner_directory(const std::string&, const struct stat& status) { return S_ISDIR(status.st_mode); }

bool is_inner_file(const std::string&, const struct stat& status) { return S_ISREG(status.st_mode); }

RunDirectory run_at(const fs::path& directory) { return {directory.string(), ranks_in(directory.string())}; }

void take_lines(const std::vector<std::string>& lines, std::vector<std::string>& warnings) {
  warnings.insert(warnings.end(), lines.begin(), lines.end());
}

/// Returns the runs of the merged file with a rank below `path`.
RunDirectories runs_of(const std::shared_ptr<const detail::MergedFile>& file, const std::string& path,
                       std::vector<std::string>& warnings) {
  RunDirectories runs;
  for (const auto& [name, ranks] : file->runs()) {
    RunDirectory run = {file->path() + "/" + name, {}};
    for (const auto& [rank, files] : ranks) {
      RankDirectory directory(file, name, rank);
      if ((directory.path() + "/").rfind(path + "/", 0) == 0) { run.ranks.push_back(std::move(directory)); }
    }
    if (!run.ranks.empty()) { runs.push_back(std::move(run)); }
  }
  take_lines(file->warnings(), warnings);
  return runs;
}

/// Runs that a path names.
struct Named {
  fs::path path;
  RunDirectories runs;
  RunDirectories closed;  ///< without permission to read; they may be runs
};

/// Returns the contents of a directory of runs, including merged files, in order.
Named runs_in(const fs::path& directory, std::vector<std::string>& warnings) {
  Named found = {directory, {}, {}};
  RunDirectories& runs = found.runs;
  for (const fs::path& each : paths_in(directory, is_inner_directory)) {
    RunDirectory run = run_at(each);
    if (!run.ranks.empty()) {
      runs.push_back(std::move(run));
    } else if (!why_closed(run.directory).empty()) {
      found.closed.push_back(std::move(run));
    }
  }
  for (const fs::path& each : paths_in(directory, is_inner_file)) {
    const std::shared_ptr<const detail::MergedFile> file = open_merged(each.string());
    if (file == nullptr) { continue; }
    RunDirectories inside = runs_of(file, file->path(), warnings);
    std::move(inside.begin(), inside.end(), std::back_inserter(runs));
  }
  std::sort(runs.begin(), runs.end(),
            [](const RunDirectory& a, const RunDirectory& b) { return fs::path(a.directory) < fs::path(b.directory); });
  return found;
}

/// Returns the start of the run; 0 if its journals do not contain it.
std::int64_t start_of(const RunDirectory& run) {
  std::int64_t latest = 0;
  for (const RankDirectory& rank : run.ranks) {
    const std::shared_ptr<const detail::ReadableDirectory> files = rank.open();
    const std::vector<std::string> segments = entries(*files, is_segment);
    if (segments.empty()) { continue; }
    std::string head;
    detail::SegmentHeader header;
    if (files->read(segments.front(), 0, detail::kSegmentHeaderBytes, head) &&
        detail::parse_header(head, header) == detail::HeaderState::good) {
      latest = std::max(latest, header.start_unix_ns);
    }
  }
  return latest;
}

/// Rejects an unreadable directory, which may contain runs.
/// \throws takt::Error
void must_be_open(const fs::path& directory) {
  if (const std::string why = why_closed(directory.string()); !why.empty()) { throw Error(why); }
}

std::string shown(const fs::path& path) { return detail::printable(path.string()); }

void report_links(const fs::path& run, std::vector<std::string>& warnings) {
  for (const fs::path& each : paths_in(run, is_linked_rank)) {
    warnings.push_back(shown(each) + " is a symbolic link, which is not followed; name its target directory");
  }
}

/// \throws takt::Error if there is none.
Named some_runs_in(const fs::path& path, std::vector<std::string>& warnings) {
  Named found = runs_in(path, warnings);
  if (!found.runs.empty()) { return found; }
  for (const RunDirectory& each : found.closed) { must_be_open(each.directory); }
  throw Error("no run in " + shown(path) + ": it " + what_else_is_in(path.string()) +
              "; a program with a takt::Session writes its runs to takt-runs, or to TAKT_DIR");
}

Named search_directory(const fs::path& path, std::vector<std::string>& warnings) {
  if (has_rank_name(path.filename().string()) || !paths_in(path, is_segment).empty()) {
    return {path, {{path.string(), {path.string()}}}, {}};
  }
  RunDirectory run = run_at(path);
  if (!run.ranks.empty()) { return {path, {std::move(run)}, {}}; }
  report_links(path, warnings);
  return some_runs_in(path, warnings);
}

/// Returns the merged file that `path` names or passes through; nullptr: none.
std::shared_ptr<const detail::MergedFile> merged_on_the_way(const fs::path& path) {
  for (fs::path file = path; file.has_relative_path(); file = file.parent_path()) {
    std::error_code error;
    if (fs::is_regular_file(file, error)) { return open_merged(file.string()); }
  }
  return nullptr;
}

/// \throws takt::Error if there is nothing to read.
Named check(const std::string& given, std::vector<std::string>& warnings) {
  std::string name = given;
  while (name.size() > 1 && name.back() == '/') { name.pop_back(); }
  const fs::path path(name);
  must_be_open(path);
  if (exists_as_directory(path)) { return search_directory(path, warnings); }
  if (const std::shared_ptr<const detail::MergedFile> file = merged_on_the_way(path); file != nullptr) {
    Named named = {path, runs_of(file, name, warnings), {}};
    if (named.runs.empty()) { throw Error("there is no run in " + shown(path)); }
    return named;
  }
  if (std::error_code error; fs::exists(path, error)) {
    throw Error(shown(path) + " is not a directory; name the directory of its run or rank");
  }
  throw Error("there is no directory " + shown(path) +
              "; name a run's directory, such as takt-runs/<run id>, or the directory that contains the runs");
}

bool is_on_disk(const RunDirectory& run) { return run.ranks.front().file() == nullptr; }

/// Returns the run that started last; of runs with the same or unknown start, the first.
const RunDirectory& newest_of(const RunDirectories& runs) {
  const RunDirectory* newest = &runs.front();
  std::int64_t latest = start_of(*newest);
  for (const RunDirectory& run : runs) {
    const std::int64_t start = start_of(run);
    if (start > latest) {
      newest = &run;
      latest = start;
    }
  }
  return *newest;
}

}  // namespace

RunDirectory newest_run(const std::string& given, std::vector<std::string>& warnings) {
  const Named named = check(given, warnings);
  for (const RunDirectory& each : named.closed) { warnings.push_back(why_closed(each.directory)); }
  const RunDirectory& newest = named.runs.size() == 1 ? named.runs.front() : newest_of(named.runs);
  if (named.runs.size() > 1) {
    warnings.push_back("using the latest of " + std::to_string(named.runs.size()) + " runs in " + shown(named.path) +
                       ": " + shown(fs::path(newest.directory).filename()));
  }
  if (is_on_disk(newest)) { report_links(newest.directory, warnings); }
  return newest;
}

std::vector<RankDirectory> ranks_in(const std::string& directory) {
  std::vector<RankDirectory> ranks;
  for (const fs::path& rank : paths_in(directory, is_rank)) { ranks.emplace_back(rank.string()); }
  return ranks;
}

std::vector<RunDirectory> all_runs(const std::string& given, std::vector<std::string>& warnings) {
  Named named = check(given, warnings);
  for (const RunDirectory& each : named.runs) {
    if (is_on_disk(each)) { report_links(each.directory, warnings); }
  }
  std::move(named.closed.begin(), named.closed.end(), std::back_inserter(named.runs));
  return named.runs;
}

std::vector<RankDirectory> rank_directories(const std::vector<std::string>& given, std::vector<std::string>& warnings) {
  std::vector<RankDirectory> all;
  std::set<std::string> seen;
  const std::vector<std::string> usual = {SessionOptions::from_env().directory};
  for (const std::string& each : given.empty() ? usual : given) {
    for (RankDirectory& directory : newest_run(each, warnings).ranks) {
      if (seen.insert(directory.path()).second) { all.push_back(std::move(directory)); }
    }
  }
  return all;
}

std::vector<RankDirectory> rank_directories(const std::vector<std::string>& given) {
  std::vector<std::string> warnings;
  std::vector<RankDirectory> directories = rank_directories(given, warnings);
  report_warnings(warnings);
  return directories;
}

void report_warnings(const std::vector<std::string>& warnings) {
  for (const std::string& each : warnings) { std::fprintf(stderr, "takt: %s\n", each.c_str()); }
}

bool are_whole(const std::vector<RankDirectory>& directories) {
  return std::all_of(directories.begin(), directories.end(),
                     [](const RankDirectory& each) { return each.file() == nullptr || each.file()->is_whole(); });
}

void refresh(RunDirectory& run) {
  const bool is_rank_alone = run.ranks.size() == 1 && run.ranks.front().path() == run.directory;
  if (!is_rank_alone) { run.ranks = ranks_in(run.directory); }
}

}  // namespace cli
TAKT_END_NAMESPACE
