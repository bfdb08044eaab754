// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/merge_plan.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "cli/rank.hpp"
#include "journal/journal_format.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>
#include <tuple>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kComparedAtOnce = std::size_t{1} << 20U;
constexpr std::size_t kMostNumbers = 16;

/// "0, 1, 2, ...".
std::string first_numbers(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t at = 0; at < std::min(numbers.size(), kMostNumbers); ++at) {
    text += detail::format("{}{}", at == 0 ? "" : ", ", numbers[at]);
  }
  return numbers.size() > kMostNumbers ? text + ", ..." : text;
}

/// The name, or this one with a number where it is taken.
template <class IsTaken>
std::string free_name(const std::string& name, IsTaken is_taken) {
  std::string free = name;
  for (int number = 1; is_taken(free); ++number) { free = detail::format("{}-{}", name, number); }
  return free;
}

/// As Takt names the folder of a rank, where it is called otherwise.
std::string rank_name(const RankFolder& folder, const detail::JournalPeek& peek) {
  if (folder.name().rfind("rank-", 0) == 0) { return folder.name(); }
  const RunInfo& run = peek.run;
  return peek.has_run ? detail::format("rank-{}-{}-{}", run.rank, run.attempt, run.pid) : "rank-" + folder.name();
}

/// The folder that it is in, by the whole path.
std::string parent_of(const RankFolder& folder) {
  std::error_code error;
  const fs::path path = fs::absolute(folder.path(), error);
  return error ? "" : path.lexically_normal().parent_path().string();
}

/// Whether the file of that name begins with all that the other one has.
bool begins_with_file(const detail::ReadableFolder& longer, const detail::ReadableFolder& shorter,
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

/// Whether the journal has all that the other one has.
bool has_all_of(const detail::ReadableFolder& longer, const detail::ReadableFolder& shorter) {
  for (const std::string& name : shorter.names()) {
    std::uint32_t number = 0;
    if (detail::parse_segment_name(name, number) && !begins_with_file(longer, shorter, name)) { return false; }
  }
  return true;
}

}  // namespace

void MergePlan::add(const RunFolder& run) {
  for (const RankFolder& each : run.ranks) { add_rank(each); }
}

/// Its name in the file. A run is the same by its id, as on each node its ranks may lie in another folder, or else by
/// the folder that its ranks lie in.
std::string MergePlan::run_of(const RankFolder& folder, const detail::JournalPeek& peek) {
  const std::string parent = parent_of(folder);
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

/// Of two of one journal the longer one stays. Returns whether one has all that the other has.
bool MergePlan::join(RankToMerge& rank, const RankToMerge& other) {
  const std::shared_ptr<const detail::ReadableFolder> ours = rank.folder.open();
  const std::shared_ptr<const detail::ReadableFolder> theirs = other.folder.open();
  if (has_all_of(*ours, *theirs)) {
    rank.copies.push_back(other.folder);
    return true;
  }
  if (has_all_of(*theirs, *ours)) {
    rank.copies.push_back(std::exchange(rank.folder, other.folder));
    rank.goes_on = other.goes_on;
    return true;
  }
  remarks_.push_back(detail::format("{} and {} are journals of one process, and differ; both go in",
                                    detail::printable(rank.folder.path()), detail::printable(other.folder.path())));
  is_clear_ = false;
  return false;
}

void MergePlan::add_rank(const RankFolder& folder) {
  const std::shared_ptr<const detail::ReadableFolder> files = folder.open();
  const detail::JournalPeek peek = detail::peek_journal(*files);
  RankToMerge rank = {run_of(folder, peek), rank_name(folder, peek), folder, {}};
  rank.number = peek.run.rank;
  rank.goes_on = peek.has_run && !peek.ended && ending_without_word(*files, peek.run) == Ending::running;
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

std::vector<std::string> MergePlan::remarks() const {
  std::vector<std::string> all = remarks_;
  std::map<std::string, std::vector<int>> running;  // numbers of ranks, by run
  for (const RankToMerge& each : ranks_) {
    if (each.goes_on) { running[each.run].push_back(each.number); }
  }
  for (auto& [run, numbers] : running) {
    std::sort(numbers.begin(), numbers.end());
    const std::string name = detail::printable(run);
    all.push_back(numbers.size() == 1
                      ? detail::format("rank {} of run {} goes on; the file has what it has written so far",
                                       numbers.front(), name)
                      : detail::format("{} ranks of run {} go on ({}); the file has what they have written so far",
                                       numbers.size(), name, first_numbers(numbers)));
  }
  return all;
}

}  // namespace cli
TAKT_END_NAMESPACE
