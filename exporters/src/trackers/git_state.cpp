// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "trackers/git_state.hpp"

#include "base/file.hpp"
#include "trackers/tracker_names.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <strings.h>
#include <sys/stat.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxOfGitFile = std::size_t{64} << 20U;  // a million packed references

/// Returns the file's content; empty if the file is missing or too large. Follows links, as git does; does not block on
/// a pipe.
std::string git_file(const fs::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status = {};
  std::string text;
  const bool read = file.look(status) && S_ISREG(status.st_mode) && read_at(file.number(), 0, kMaxOfGitFile + 1, text);
  return read && text.size() <= kMaxOfGitFile ? text : "";
}

/// Returns the text after `prefix`; empty if `text` does not start with it.
std::string behind(std::string_view prefix, const std::string& text) {
  return text.compare(0, prefix.size(), prefix) == 0 ? trimmed(text.substr(prefix.size())) : "";
}

/// Returns git's directory for the work tree at `root`: ".git", or the path in that file; empty if there is none.
fs::path git_directory(const fs::path& root) {
  std::error_code error;
  fs::path directory = root / ".git";
  if (!fs::is_directory(directory, error)) {
    const std::string elsewhere = behind("gitdir:", git_file(directory));
    if (elsewhere.empty()) { return {}; }
    directory = root / elsewhere;
  }
  return fs::is_regular_file(directory / "HEAD", error) ? directory : fs::path();
}

/// Returns the commit of a branch or another reference, from its own file or from packed-refs.
std::string commit_of(const fs::path& common, const std::string& reference) {
  if (behind("refs/", reference).empty() || reference.find("..") != std::string::npos) { return ""; }
  std::string commit = trimmed(git_file(common / reference));
  if (!commit.empty()) { return commit; }
  std::istringstream packed(git_file(common / "packed-refs"));
  for (std::string line; std::getline(packed, line);) {
    const std::size_t blank = line.find(' ');
    if (blank != std::string::npos && trimmed(line.substr(blank)) == reference) { return line.substr(0, blank); }
  }
  return "";
}

bool is_commit(std::string_view text) {
  return (text.size() == 40 || text.size() == 64) &&
         std::all_of(text.begin(), text.end(), [](unsigned char each) { return std::isxdigit(each) != 0; });
}

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
std::string remote_address(const fs::path& config, const std::string& remote) {
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
  std::error_code error;
  fs::path at = fs::absolute(directory.empty() ? "." : directory, error).lexically_normal();
  if (!at.has_filename()) { at = at.parent_path(); }
  struct stat begin = {};
  struct stat status = {};
  GitState state;
  if (error || ::stat(at.c_str(), &begin) != 0) { return state; }
  fs::path own = git_directory(at);
  while (own.empty()) {
    if (at == at.parent_path()) { return state; }
    at = at.parent_path();
    if (::stat(at.c_str(), &status) != 0 || status.st_dev != begin.st_dev) { return state; }
    own = git_directory(at);
  }
  const std::string elsewhere = trimmed(git_file(own / "commondir"));
  const fs::path common = elsewhere.empty() ? own : own / elsewhere;  // shared by all work trees
  state.root = at.string();
  state.commit = trimmed(git_file(own / "HEAD"));
  if (const std::string reference = behind("ref:", state.commit); !reference.empty()) {
    state.branch = behind("refs/heads/", reference);
    state.commit = commit_of(common, reference);
  }
  if (!is_commit(state.commit)) { state.commit.clear(); }
  if (state.branch == ".invalid") { state.branch.clear(); }  // reftable's placeholder in HEAD
  state.remote = without_credentials(remote_address(common / "config", remote));
  return state;
}

std::string without_credentials(const std::string& address) {
  const bool odd =
      std::any_of(address.begin(), address.end(), [](unsigned char each) { return std::iscntrl(each) != 0; });
  const std::size_t helper = address.find("::");
  // "ext::<command>"; in IPv6 addresses "::" follows a bracket.
  if (odd || (helper != std::string::npos && helper < address.find_first_of("/[@"))) { return ""; }
  const std::size_t scheme = address.find("://");
  if (scheme == std::string::npos) {
    // "user@host:path" is the ssh form. A colon before the '@' may be a password.
    const std::size_t at = address.find('@');
    const bool secret = at != std::string::npos && address.find(':') < at;
    return secret ? address.substr(address.rfind('@') + 1) : address;
  }
  const std::size_t begin = scheme + 3;
  std::string place = address.substr(begin, address.find_first_of("?#", begin) - begin);
  std::string_view host(place.data(), std::min(place.find('/'), place.size()));
  // A '/' in a password ends the apparent host.
  const std::size_t colon = host.rfind(':');
  const bool is_port = colon == std::string_view::npos || host.find(']', colon) != std::string_view::npos ||
                       host.find_first_not_of("0123456789", colon + 1) == std::string_view::npos;
  if (host.find('@') == std::string_view::npos && !is_port) { host = place; }
  const std::size_t at = host.rfind('@');
  if (at == std::string_view::npos) {
    // A password may contain '?' or '#'.
    const bool cut_short = place.find('/') == std::string::npos && address.find('@') != std::string::npos;
    return is_port && !cut_short ? address.substr(0, begin) + place : "";
  }
  std::string user = place.substr(0, std::min(place.find(':'), at));
  const bool ssh = address.compare(0, scheme, "ssh") == 0 || address.compare(0, scheme, "git+ssh") == 0;
  user = ssh && !user.empty() ? user + "@" : "";
  return address.substr(0, begin) + user + place.substr(at + 1);
}

}  // namespace detail
TAKT_END_NAMESPACE
