// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/folder_contents.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostNames = 3;
constexpr std::size_t kLongestName = 40;
constexpr std::size_t kMostLookedAt = 10'000;  // somebody's home may be large

/// Sorted; not more than kMostLookedAt.
std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end && names.size() < kMostLookedAt;
       at.increment(error)) {
    names.push_back(at->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// What else a run leaves in its folder.
bool is_of_takt(std::string_view name) {
  constexpr std::string_view kNames[] = {"summary.json", "steps.csv",   "trace.json", "mlflow.json",
                                         "mlflow.lease", "wandb.lease", "wandb.json"};
  return std::any_of(std::begin(kNames), std::end(kNames), [&](std::string_view each) {
    return name == each || (name.size() == each.size() + 5 && name.substr(0, each.size()) == each &&
                            name.substr(each.size()) == ".part");
  });
}

/// "a, b, c and 2 more".
std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t at = 0; at < std::min(names.size(), kMostNames); ++at) {
    text += (at == 0 ? "" : ", ") + detail::fit(detail::printable(names[at]), kLongestName);
  }
  return names.size() > kMostNames ? text + " and " + std::to_string(names.size() - kMostNames) + " more" : text;
}

}  // namespace

std::string why_no_journal(const RankFolder& folder) {
  const std::string where = detail::printable(folder.path());
  const std::vector<std::string> names = folder.file() == nullptr ? names_in(folder.path()) : folder.open()->names();
  if (names.empty()) {
    return where +
           " is empty: the program that made it wrote nothing there. Either its disk took nothing, or it kept no "
           "journal "
           "(TAKT_JOURNAL=0, TAKT_FILES=0) and did not come to its end";
  }
  if (std::none_of(names.begin(), names.end(), [](const std::string& each) { return is_of_takt(each); })) {
    return where + " holds no run of Takt's, but " + listed(names);
  }
  std::string text = where +
                     " is of a run without a journal: it was switched off (TAKT_JOURNAL=0), or removed; there are " +
                     listed(names);
  if (std::binary_search(names.begin(), names.end(), "summary.json")) { text += ". summary.json has the totals"; }
  return text;
}

std::string what_else_is_in(const std::string& folder) {
  const std::vector<std::string> names = names_in(folder);
  return names.empty() ? "is empty" : "holds no run of Takt's, but " + listed(names);
}

}  // namespace cli
TAKT_END_NAMESPACE
