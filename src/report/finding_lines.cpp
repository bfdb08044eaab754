// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "report/finding_lines.hpp"

#include "base/format.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <cstddef>

#include <sys/stat.h>

TAKT_BEGIN_NAMESPACE
namespace detail {

std::vector<std::string> finding_lines(const std::vector<Finding>& findings) {
  constexpr std::size_t kMost = 3;  // who reads more has them all elsewhere
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < std::min(findings.size(), kMost); ++at) {
    lines.push_back(printable(findings[at].sentence));
  }
  if (findings.size() > kMost) {
    const std::size_t more = findings.size() - kMost;
    lines.push_back(detail::format("{} more finding{}: takt report --json", more, more == 1 ? "" : "s"));
  }
  return lines;
}

std::vector<std::string> one_of_many_lines(const Snapshot& snapshot) {
  const RunInfo& run = snapshot.run;
  if (run.rank < 0 || run.world_size < 2) { return {}; }
  const std::size_t end = run.directory.find_last_of('/');
  const std::string folder = end == std::string::npos ? "" : run.directory.substr(0, end);
  struct stat status = {};
  const bool is_there = !folder.empty() && ::stat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
  const std::string all = is_there ? "; all of them: takt report " + printable(folder) : "";  // else in a merged file
  return {detail::format("this is rank {} alone{}", run.rank, all)};
}

bool tells(const std::vector<Finding>& findings, std::string_view what) {
  return std::any_of(findings.begin(), findings.end(), [what](const Finding& each) { return each.what == what; });
}

}  // namespace detail
TAKT_END_NAMESPACE
