// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "commands.hpp"
#include "rank.hpp"
#include "run_folder.hpp"
#include "text.hpp"

#include <fmt/format.h>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

/// What is not there that was recorded, as lines.
std::vector<std::string> losses(const Rank& rank) {
  std::vector<std::string> lines = damages(rank);
  if (rank.ending == Ending::died || rank.ending == Ending::silent) {
    lines.emplace_back(
        "what was recorded after the last period, which is at most one: the process did not end by itself");
  }
  for (const Loss& loss : rank.snapshot.losses) {
    lines.push_back(fmt::format("declared: {} x {}{}", detail::human_count(loss.count), detail::printable(loss.what),
                                loss.where.empty() ? "" : " (" + detail::printable(loss.where) + ")"));
  }
  return lines;
}

bool check_one(const std::string& folder) {
  const Rank rank = read_rank(folder);
  if (!rank.readable()) {
    fmt::print("{}\n  {}\n", detail::printable(folder), why_unreadable(rank));
    return false;
  }
  const std::vector<std::string> lines = losses(rank);
  fmt::print("{}: {}\n", detail::printable(folder), lines.empty() ? "whole, nothing lost" : "not whole");
  fmt::print("  segments: {}, {}; records: {}, of these steps: {}, metrics: {}\n", rank.segments,
             detail::human_bytes(static_cast<double>(rank.bytes)), detail::human_count(rank.frames),
             detail::human_count(rank.rows), detail::human_count(rank.metrics));
  fmt::print("  {}\n", describe(rank));
  for (const std::string& each : lines) { fmt::print("  lost: {}\n", each); }
  return lines.empty();
}

}  // namespace

int check(const std::vector<std::string>& runs) {
  std::vector<std::string> remarks;
  const std::vector<std::string> folders = rank_folders(runs, remarks);
  for (const std::string& each : remarks) { fmt::print("{}\n", each); }
  bool good = true;
  for (const std::string& each : folders) { good = check_one(each) && good; }
  return good ? 0 : kBroken;
}

}  // namespace cli
TAKT_END_NAMESPACE
