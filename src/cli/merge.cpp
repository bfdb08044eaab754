// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/merge.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/merged_file.hpp"
#include "cli/rank.hpp"
#include "cli/run_directory.hpp"
#include "cli/run_reader.hpp"
#include "journal/journal_format.hpp"
#include "report/trace.hpp"

#include <takt/error.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include <sys/stat.h>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

/// Checks that the file may be written: only merged files are replaced, and only with --force.
/// \throws takt::Error if the file must stay.
void must_be_free(const std::string& file, bool force) {
  if (!detail::may_exist(file)) { return; }
  const std::string name = detail::printable(file);
  if (!force) { throw Error(name + " already exists; name another file with -o, or use --force to replace it"); }
  if (open_merged(file) == nullptr) {
    throw Error(name + " is not a merged file of Takt and is kept; name another file with -o");
  }
}

/// Returns true if all files were read.
bool write_rank(const RankToMerge& rank, detail::MergedWriter& out) {
  const FilesToMerge files(rank);
  report_warnings(files.warnings());
  const std::string directory = rank.run + "/" + rank.rank;
  out.add_directory(directory, files.changed_unix_ns());
  bool good = files.warnings().empty();
  for (const FileToMerge& each : files.all()) {
    std::string why;
    if (out.add_file(directory + "/" + each.name, *each.from, each.name, why)) { continue; }
    report_warnings({detail::format("{} {}", detail::printable(each.from->path(each.name)), why)});
    good = false;
  }
  return good;
}

}  // namespace

int merge(const std::vector<std::string>& directories, const std::string& file, bool force) {
  must_be_free(file, force);
  std::vector<std::string> warnings;
  MergePlan plan;
  bool good = true;
  for (const std::string& each : directories) {
    for (const RunDirectory& run : all_runs(each, warnings)) {
      plan.add(run);
      if (run.ranks.empty()) { warnings.push_back(why_closed(run.directory)); }
      good = good && !run.ranks.empty() && are_whole(run.ranks);
    }
  }
  report_warnings(warnings);
  report_warnings(plan.warnings());
  good = good && plan.is_clear();
  detail::MergedWriter out(file);
  std::set<std::string> runs;
  const std::vector<RankToMerge> ranks = plan.ranks();
  for (const RankToMerge& each : ranks) {
    if (runs.insert(each.run).second) { out.add_directory(each.run, 0); }
    good = write_rank(each, out) && good;
  }
  out.finish();
  detail::print(stdout, "{}: {} rank{} of {} run{}, {}\n", detail::printable(file), ranks.size(),
                ranks.size() == 1 ? "" : "s", runs.size(), runs.size() == 1 ? "" : "s",
                detail::human_bytes(static_cast<double>(out.bytes())));
  return good ? 0 : kBroken;
}

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kComparedAtOnce = std::size_t{1} << 20U;
constexpr std::size_t kMaxNumbers = 16;

/// Formats "0, 1, 2, ...".
std::string first_numbers(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t at = 0; at < std::min(numbers.size(), kMaxNumbers); ++at) {
    text += detail::format("{}{}", at == 0 ? "" : ", ", numbers[at]);
  }
  return numbers.size() > kMaxNumbers ? text + ", ..." : text;
}

/// Returns the name, with a number appended if it is taken.
template <class IsTaken>
std::string free_name(const std::string& name, IsTaken is_taken) {
  std::string free = name;
  for (int number = 1; is_taken(free); ++number) { free = detail::format("{}-{}", name, number); }
  return free;
}

/// Returns Takt's name for a rank's directory, even if it was renamed.
std::string rank_name(const RankDirectory& directory, const detail::JournalPeek& peek) {
  if (directory.name().rfind("rank-", 0) == 0) { return directory.name(); }
  const RunInfo& run = peek.run;
  return peek.has_run ? detail::format("rank-{}-{}-{}", run.rank, run.attempt, run.pid) : "rank-" + directory.name();
}

/// Returns the absolute path of the parent directory.
std::string parent_of(const RankDirectory& directory) {
  std::error_code error;
  const fs::path path = fs::absolute(directory.path(), error);
  return error ? "" : path.lexically_normal().parent_path().string();
}

/// Returns true if the longer file starts with the whole content of the shorter one.
bool begins_with_file(const detail::ReadableDirectory& longer, const detail::ReadableDirectory& shorter,
                      const std::string& name) {
  for (std::uint64_t at = 0;; at += kComparedAtOnce) {
    std::string ours;
    std::string theirs;
    if (!shorter.read(name, at, kComparedAtOnce, ours) || !longer.read(name, at, kComparedAtOnce, theirs)) {
      return false;
    }
    if (theirs.compare(0, ours.size(), ours) != 0) { return false; }
    if (ours.size() < kComparedAtOnce) { return true; }
  }
}

/// Returns true if the journal contains all of the other one.
bool has_all_of(const detail::ReadableDirectory& longer, const detail::ReadableDirectory& shorter) {
  for (const std::string& name : shorter.names()) {
    std::uint32_t number = 0;
    if (detail::parse_segment_name(name, number) && !begins_with_file(longer, shorter, name)) { return false; }
  }
  return true;
}

}  // namespace

void MergePlan::add(const RunDirectory& run) {
  for (const RankDirectory& each : run.ranks) { add_rank(each); }
}

/// Returns the run's name in the file. Runs are identified by id, as the ranks of each node may be in another
/// directory, or else by the directory of the ranks.
std::string MergePlan::run_of(const RankDirectory& directory, const detail::JournalPeek& peek) {
  const std::string parent = parent_of(directory);
  if (const auto known = by_id_.find(peek.run.id); peek.has_run && known != by_id_.end()) { return known->second; }
  const auto known = by_parent_.find(parent);
  std::string name = known != by_parent_.end() ? known->second : fs::path(parent).filename().string();
  if (name.empty()) { name = "run"; }
  if (!peek.has_run) { return name; }
  if (known == by_parent_.end()) {
    name = free_name(name, [&](const std::string& each) { return runs_.count(each) != 0; });
    by_parent_.emplace(parent, name);
    runs_.insert(name);
  }
  by_id_.emplace(peek.run.id, name);
  return name;
}

/// Keeps the longer one of two copies of a journal. Returns true if one contains the other.
bool MergePlan::join(RankToMerge& rank, const RankToMerge& other) {
  const std::shared_ptr<const detail::ReadableDirectory> ours = rank.directory.open();
  const std::shared_ptr<const detail::ReadableDirectory> theirs = other.directory.open();
  if (has_all_of(*ours, *theirs)) {
    rank.copies.push_back(other.directory);
    return true;
  }
  if (has_all_of(*theirs, *ours)) {
    rank.copies.push_back(std::exchange(rank.directory, other.directory));
    rank.goes_on = other.goes_on;
    return true;
  }
  warnings_.push_back(detail::format("{} and {} are different journals of one process; both are included",
                                     detail::printable(rank.directory.path()),
                                     detail::printable(other.directory.path())));
  is_clear_ = false;
  return false;
}

void MergePlan::add_rank(const RankDirectory& directory) {
  std::string why;  // takt report prints it
  const detail::JournalPeek peek = peek_journal(directory, why);
  RankToMerge rank = {run_of(directory, peek), rank_name(directory, peek), directory, {}};
  rank.number = peek.run.rank;
  rank.goes_on = peek.has_run && !peek.ended && ending_without_word(*directory.open(), peek.run) == Ending::running;
  const std::string path = rank.run + "/" + rank.rank;
  const std::string identity = peek.journal != 0 ? detail::format("{}//{:x}", rank.run, peek.journal) : path;
  const auto [place, is_new] = known_.try_emplace(identity, ranks_.size());
  if (!is_new && join(ranks_[place->second], rank)) { return; }
  rank.rank = free_name(path, [&](const std::string& each) { return names_.count(each) != 0; });
  names_.insert(rank.rank);
  rank.rank.erase(0, rank.run.size() + 1);
  ranks_.push_back(std::move(rank));
}

std::vector<RankToMerge> MergePlan::ranks() const {
  std::vector<RankToMerge> all = ranks_;
  std::sort(all.begin(), all.end(), [](const RankToMerge& a, const RankToMerge& b) {
    return std::tie(a.run, a.rank) < std::tie(b.run, b.rank);
  });
  return all;
}

std::vector<std::string> MergePlan::warnings() const {
  std::vector<std::string> all = warnings_;
  std::map<std::string, std::vector<int>> running;  // numbers of ranks, by run
  for (const RankToMerge& each : ranks_) {
    if (each.goes_on) { running[each.run].push_back(each.number); }
  }
  for (auto& [run, numbers] : running) {
    std::sort(numbers.begin(), numbers.end());
    const std::string name = detail::printable(run);
    all.push_back(
        numbers.size() == 1
            ? detail::format("rank {} of run {} is still running; the file has its data so far", numbers.front(), name)
            : detail::format("{} ranks of run {} are still running ({}); the file has their data so far",
                             numbers.size(), name, first_numbers(numbers)));
  }
  return all;
}

namespace {

/// A file name of Takt and a word that its first bytes contain.
struct KnownFile {
  std::string_view name;
  std::string_view word;
};

constexpr KnownFile kKnownFiles[] = {
    {"summary.json", "\"takt-summary/"}, {"trace.json", detail::kTraceHead}, {"trace.json.part", detail::kTraceHead},
    {"trials.json", "\"takt-trials/"},   {"results.csv", "name,"},           {"results.json", "\"takt-results/"},
    {"mlflow.json", "\"takt-mlflow/"},   {"wandb.json", "\"takt-wandb/"}};
constexpr KnownFile kSegment = {"", "TAKTJRNL"};
constexpr std::string_view kFrameWord = "tFrm";  // start of a frame in a segment with a damaged header
constexpr std::size_t kFirstBytes = 4096;

/// nullptr: not a known file.
const KnownFile* known_file(const std::string& name) {
  std::uint32_t number = 0;
  if (detail::parse_segment_name(name, number)) { return &kSegment; }
  const auto* const found = std::find_if(std::begin(kKnownFiles), std::end(kKnownFiles),
                                         [&](const KnownFile& each) { return each.name == name; });
  return found == std::end(kKnownFiles) ? nullptr : found;
}

/// Returns the reason to skip the file, or an empty text. The copier reports empty and unreadable files.
std::string why_out(const detail::ReadableDirectory& files, const std::string& name, const KnownFile& known,
                    const struct stat& status) {
  if (!S_ISREG(status.st_mode)) { return "is not a regular file"; }
  if (static_cast<std::uint64_t>(status.st_size) > FilesToMerge::kMaxBytes) { return "is longer than 1 GiB"; }
  std::string bytes;
  if (!files.read(name, 0, kFirstBytes, bytes) || bytes.empty()) { return ""; }
  const auto has = [&](std::string_view word) { return bytes.find(word) != std::string::npos; };
  return has(known.word) || (&known == &kSegment && has(kFrameWord)) ? "" : "was not written by Takt";
}

}  // namespace

FilesToMerge::FilesToMerge(const RankToMerge& rank) {
  add_from(rank.directory, true);
  for (const RankDirectory& each : rank.copies) { add_from(each, false); }
  std::sort(all_.begin(), all_.end(), [](const FileToMerge& a, const FileToMerge& b) { return a.name < b.name; });
}

void FilesToMerge::add_from(const RankDirectory& directory, bool with_journal) {
  const std::shared_ptr<const detail::ReadableDirectory> files = directory.open();
  for (const std::string& name : files->names()) {
    const KnownFile* const known = known_file(name);
    struct stat status = {};
    if (known == nullptr || (known == &kSegment && !with_journal) || !files->look(name, status)) { continue; }
    const bool is_there = std::any_of(all_.begin(), all_.end(), [&](const FileToMerge& at) { return at.name == name; });
    if (is_there) { continue; }
    if (const std::string why = why_out(*files, name, *known, status); !why.empty()) {
      warnings_.push_back(detail::format("{} {}; it is not included", detail::printable(files->path(name)), why));
      continue;
    }
    all_.push_back({name, files});
    changed_unix_ns_ =
        std::max<std::int64_t>(changed_unix_ns_, status.st_mtim.tv_sec * detail::kSecondNs + status.st_mtim.tv_nsec);
  }
}

}  // namespace cli
TAKT_END_NAMESPACE
