// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/error.hpp>

#include "archive/merged_writer.hpp"
#include "base/file.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/files_to_merge.hpp"
#include "cli/merge_plan.hpp"
#include "cli/rank.hpp"
#include "cli/run_folder.hpp"

#include <cstdio>
#include <set>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

void tell(const std::vector<std::string>& lines) {
  for (const std::string& each : lines) { std::fprintf(stderr, "takt: %s\n", each.c_str()); }
}

/// Only what `takt merge` has written itself is replaced, and only if somebody says so.
/// \throws takt::Error where the file stays.
void must_be_free(const std::string& file, bool force) {
  if (!detail::may_exist(file)) { return; }
  const std::string name = detail::printable(file);
  if (!force) { throw Error(name + " is there already; name another file with -o, or give --force to replace it"); }
  if (open_merged(file) == nullptr) {
    throw Error(name + " is no merged file of Takt's, and stays; name another file with -o");
  }
}

/// Returns whether all of it could be read.
bool write_rank(const RankToMerge& rank, detail::MergedWriter& out) {
  const FilesToMerge files(rank);
  tell(files.remarks());
  const std::string folder = rank.run + "/" + rank.rank;
  out.add_folder(folder, files.changed_unix_ns());
  bool good = files.remarks().empty();
  for (const FileToMerge& each : files.all()) {
    std::string why;
    if (out.add_file(folder + "/" + each.name, *each.from, each.name, why)) { continue; }
    tell({detail::format("{} {}", detail::printable(each.from->path(each.name)), why)});
    good = false;
  }
  return good;
}

}  // namespace

int merge(const std::vector<std::string>& folders, const std::string& file, bool force) {
  must_be_free(file, force);
  std::vector<std::string> remarks;
  MergePlan plan;
  bool good = true;
  for (const std::string& each : folders) {
    for (const RunFolder& run : all_runs(each, remarks)) {
      plan.add(run);
      if (run.ranks.empty()) { remarks.push_back(why_closed(run.folder)); }
      good = good && !run.ranks.empty() && are_whole(run.ranks);
    }
  }
  tell(remarks);
  tell(plan.remarks());
  good = good && plan.is_clear();
  detail::MergedWriter out(file);
  std::set<std::string> runs;
  const std::vector<RankToMerge> ranks = plan.ranks();
  for (const RankToMerge& each : ranks) {
    if (runs.insert(each.run).second) { out.add_folder(each.run, 0); }
    good = write_rank(each, out) && good;
  }
  out.finish();
  detail::print(stdout, "{}: {} rank{} of {} run{}, {}\n", detail::printable(file), ranks.size(),
                ranks.size() == 1 ? "" : "s", runs.size(), runs.size() == 1 ? "" : "s",
                detail::human_bytes(static_cast<double>(out.bytes())));
  return good ? 0 : kBroken;
}

}  // namespace cli
TAKT_END_NAMESPACE
