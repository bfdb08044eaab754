// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "trackers/git_state.hpp"

#include "base/git_tree.hpp"
#include "base/secrets.hpp"
#include "trackers/tracker_names.hpp"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <string_view>
#include <utility>

#include <strings.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// Returns "origin" for `[remote "origin"]`; empty for another section.
std::string remote_of(const std::string& line) {
  constexpr std::size_t kWord = 7;  // "[remote"
  const std::size_t quote = line.find('"');
  if (quote == std::string::npos || ::strncasecmp(line.c_str(), "[remote", kWord) != 0) { return ""; }
  return trimmed(line.substr(kWord, quote - kWord)).empty()
             ? line.substr(quote + 1, line.find('"', quote + 1) - quote - 1)
             : "";
}

/// Returns a git configuration value without quotes and comment. Empty if it has escapes, which addresses rarely need.
std::string config_value(const std::string& text) {
  const std::size_t begin = text.compare(0, 1, "\"") == 0 ? 1 : 0;
  const std::size_t end = begin == 1 ? text.find('"', 1) : text.find_first_of("#;");
  const std::string value = trimmed(text.substr(begin, end == std::string::npos ? end : end - begin));
  return value.find_first_of("\"\\") == std::string::npos ? value : "";
}

/// Returns the first address of that remote, else of the first remote.
std::string remote_address(const std::string& config, const std::string& remote) {
  std::istringstream lines(git_file(config));
  std::string section;
  std::string first;
  for (std::string line; std::getline(lines, line);) {
    line = trimmed(line);
    if (line.compare(0, 1, "[") == 0) { section = remote_of(line); }
    if (section.empty() || ::strncasecmp(line.c_str(), "url", 3) != 0) { continue; }
    const std::string assigned = trimmed(line.substr(3));
    if (assigned.compare(0, 1, "=") != 0) { continue; }
    std::string address = config_value(trimmed(assigned.substr(1)));
    if (section == remote) { return address; }
    if (first.empty()) { first = std::move(address); }
  }
  return first;
}

}  // namespace

GitState git_state(const std::string& directory, const std::string& remote) {
  const GitTree tree = git_tree(directory);
  if (tree.root.empty()) { return {}; }
  return {tree.root, tree.commit, without_credentials(remote_address(tree.common + "/config", remote))};
}

}  // namespace detail
TAKT_END_NAMESPACE
