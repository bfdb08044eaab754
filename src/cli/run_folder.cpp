// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/run_folder.hpp"

#include <takt/error.hpp>
#include <takt/session.hpp>

#include "base/file.hpp"
#include "base/folder_files.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/folder_contents.hpp"
#include "cli/rank.hpp"
#include "journal/journal_format.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include <sys/stat.h>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

namespace fs = std::filesystem;
using Paths = std::vector<fs::path>;

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

/// Of the entries of a folder whose name and status are wanted, the paths, sorted. What is below the folder that
/// somebody has named is not followed where it is a link: it could lead anywhere, and what delivers a run writes there.
template <class Wanted>
Paths entries(const fs::path& folder, Wanted wanted) {
  Paths found;
  const detail::FolderFiles files(folder.string());
  for (const std::string& name : files.names()) {
    struct stat status = {};
    if (files.look(name, status) && wanted(name, status)) { found.push_back(folder / name); }
  }
  std::sort(found.begin(), found.end());
  return found;
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

bool is_inner_folder(const std::string&, const struct stat& status) { return S_ISDIR(status.st_mode); }

/// What a folder of runs has in it.
struct RunsFound {
  Paths runs;
  Paths closed;  ///< nobody may look into them: they may be runs
};

RunsFound runs_in(const fs::path& folder) {
  RunsFound found;
  for (const fs::path& each : entries(folder, is_inner_folder)) {
    if (!entries(each, is_rank).empty()) {
      found.runs.push_back(each);
    } else if (!why_closed(each.string()).empty()) {
      found.closed.push_back(each);
    }
  }
  return found;
}

/// Of the run; 0 where its journals do not say.
std::int64_t start_of(const fs::path& run) {
  std::int64_t latest = 0;
  for (const fs::path& rank : entries(run, is_rank)) {
    const Paths segments = entries(rank, is_segment);
    if (segments.empty()) { continue; }
    std::string head;
    detail::SegmentHeader header;
    if (detail::read_from(segments.front().string(), 0, detail::kSegmentHeaderBytes, head) &&
        detail::parse_header(head, header) == detail::HeaderState::good) {
      latest = std::max(latest, header.start_unix_ns);
    }
  }
  return latest;
}

std::vector<std::string> texts(const Paths& paths) {
  std::vector<std::string> out;
  for (const fs::path& path : paths) { out.push_back(path.string()); }
  return out;
}

/// What nobody may look into is not the same as nothing.
/// \throws takt::Error
void must_be_open(const fs::path& folder) {
  if (const std::string why = why_closed(folder.string()); !why.empty()) { throw Error(why); }
}

std::string shown(const fs::path& path) { return detail::printable(path.string()); }

std::vector<std::string> ranks_of_run(const fs::path& run, std::vector<std::string>& remarks) {
  for (const fs::path& each : entries(run, is_linked_rank)) {
    remarks.push_back(shown(each) + " is a symbolic link, which is not followed; name the folder that it leads to");
  }
  return ranks_in(run.string());
}

/// A folder that somebody has named.
struct Named {
  enum class What { rank, run, runs };
  fs::path path;
  What what;
};

/// \throws takt::Error where it is no folder.
Named look_at(const std::string& given) {
  std::string name = given;
  while (name.size() > 1 && name.back() == '/') { name.pop_back(); }
  const fs::path path(name);
  must_be_open(path);
  if (std::error_code error; fs::exists(path, error) && !is_folder(path)) {
    throw Error(shown(path) + " is no folder; name the one of the run, or of the rank, that it is in");
  }
  if (!is_folder(path)) {
    throw Error("there is no folder " + shown(path) +
                "; name a run's folder, such as takt-runs/<run id>, or the folder that holds the runs");
  }
  if (has_rank_name(path.filename().string()) || !entries(path, is_segment).empty()) {
    return {path, Named::What::rank};
  }
  return {path, entries(path, is_rank).empty() ? Named::What::runs : Named::What::run};
}

/// \throws takt::Error where there is none.
RunsFound some_runs_in(const fs::path& path) {
  RunsFound found = runs_in(path);
  if (!found.runs.empty()) { return found; }
  for (const fs::path& each : found.closed) { must_be_open(each); }
  throw Error("no run in " + shown(path) + ": it " + what_else_is_in(path.string()) +
              "; a program with a takt::Session leaves its runs in takt-runs, or where TAKT_DIR says");
}

}  // namespace

RunFolder newest_run(const std::string& given, std::vector<std::string>& remarks) {
  const Named named = look_at(given);
  if (named.what == Named::What::rank) { return {named.path.string(), {named.path.string()}}; }
  if (named.what == Named::What::run) { return {named.path.string(), ranks_of_run(named.path, remarks)}; }
  ranks_of_run(named.path, remarks);  // there are none, but perhaps links to some
  const auto [runs, closed] = some_runs_in(named.path);
  for (const fs::path& each : closed) { remarks.push_back(why_closed(each.string())); }
  // Of those that began at once, or do not say when: the first.
  std::pair<std::int64_t, fs::path> newest(start_of(runs.front()), runs.front());
  for (const fs::path& run : runs) {
    const std::int64_t start = start_of(run);
    if (start > newest.first) { newest = {start, run}; }
  }
  if (runs.size() > 1) {
    remarks.push_back("the newest of " + std::to_string(runs.size()) + " runs in " + shown(named.path) + ": " +
                      shown(newest.second.filename()));
  }
  return {newest.second.string(), ranks_of_run(newest.second, remarks)};
}

std::vector<std::string> ranks_in(const std::string& folder) { return texts(entries(folder, is_rank)); }

std::vector<RunFolder> all_runs(const std::string& given, std::vector<std::string>& remarks) {
  const Named named = look_at(given);
  if (named.what == Named::What::rank) { return {{named.path.string(), {named.path.string()}}}; }
  const RunsFound found = named.what == Named::What::run ? RunsFound{{named.path}, {}} : some_runs_in(named.path);
  std::vector<RunFolder> runs;
  for (const fs::path& each : found.runs) { runs.push_back({each.string(), ranks_of_run(each, remarks)}); }
  for (const fs::path& each : found.closed) { runs.push_back({each.string(), {}}); }
  return runs;
}

std::vector<std::string> rank_folders(const std::vector<std::string>& given, std::vector<std::string>& remarks) {
  std::vector<std::string> all;
  const std::vector<std::string> usual = {SessionOptions::from_env().directory};
  for (const std::string& each : given.empty() ? usual : given) {
    for (const std::string& folder : newest_run(each, remarks).ranks) {
      if (std::find(all.begin(), all.end(), folder) == all.end()) { all.push_back(folder); }
    }
  }
  return all;
}

int for_rank_folders(const std::vector<std::string>& given, const std::function<int(const std::string&)>& work) {
  std::vector<std::string> remarks;
  const std::vector<std::string> folders = rank_folders(given, remarks);
  for (const std::string& each : remarks) { std::fprintf(stderr, "takt: %s\n", each.c_str()); }
  int worst = 0;
  for (const std::string& folder : folders) {
    const int status = work(folder);
    if (worst != kBroken && status != 0) { worst = status; }
  }
  return worst;
}

}  // namespace cli
TAKT_END_NAMESPACE
