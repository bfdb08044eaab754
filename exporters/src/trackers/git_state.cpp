// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "trackers/git_state.hpp"

#include "base/file.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostOfGitFile = std::size_t{1} << 20U;
constexpr std::size_t kMostOfPackedRefs = std::size_t{64} << 20U;  // a million references
constexpr int kMostSymbolicRefs = 5;                               // as git has it
constexpr std::string_view kBlanks = " \t\r\n";

/// The file, empty where there is none, or more than `most` of it. Links are followed, as by git; a pipe is not waited
/// for.
std::string git_file(const fs::path& path, std::size_t most = kMostOfGitFile) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status = {};
  std::string text;
  const bool read = file.look(status) && S_ISREG(status.st_mode) && read_at(file.number(), 0, most + 1, text);
  return read && text.size() <= most ? text : "";
}

std::string_view without_blanks(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  return begin == std::string_view::npos ? "" : text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

/// What is up to the next '\n', which goes from `text`.
std::string_view next_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

bool is_commit(std::string_view text) {
  return (text.size() == 40 || text.size() == 64) &&
         std::all_of(text.begin(), text.end(), [](unsigned char each) { return std::isxdigit(each) != 0; });
}

/// Whether it is a reference, and leads nowhere else as a path.
bool is_reference(std::string_view name) {
  return name.substr(0, 5) == "refs/" && name.find("..") == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

/// What "<prefix>value" says; empty for another text.
std::string_view value_behind(std::string_view prefix, std::string_view text) {
  return text.substr(0, prefix.size()) == prefix ? without_blanks(text.substr(prefix.size())) : "";
}

/// Where git keeps what it knows.
struct GitFolders {
  fs::path root;    // that is checked out
  fs::path own;     // of this work tree; empty: there is none
  fs::path common;  // of all work trees of the repository
};

GitFolders folders_of(const fs::path& root) {
  std::error_code error;
  const fs::path dot = root / ".git";
  GitFolders folders = {root, dot, dot};
  if (!fs::is_directory(dot, error)) {
    const std::string text = git_file(dot);
    const std::string_view elsewhere = value_behind("gitdir:", text);
    if (elsewhere.empty()) { return {}; }
    folders.own = folders.common = root / fs::path(elsewhere);
  }
  const std::string text = git_file(folders.own / "commondir");
  if (const std::string_view common = without_blanks(text); !common.empty()) {
    folders.common = folders.own / fs::path(common);
  }
  return fs::is_regular_file(folders.own / "HEAD", error) ? folders : GitFolders();
}

/// The first one from `directory` upwards.
GitFolders find_git_folders(const std::string& directory) {
  std::error_code error;
  fs::path at = fs::absolute(directory.empty() ? "." : directory, error).lexically_normal();
  if (error) { return {}; }
  if (!at.has_filename()) { at = at.parent_path(); }
  struct stat begin = {};
  if (::stat(at.c_str(), &begin) != 0) { return {}; }
  for (struct stat status = begin; ::stat(at.c_str(), &status) == 0 && status.st_dev == begin.st_dev;) {
    GitFolders folders = folders_of(at);
    if (!folders.own.empty()) { return folders; }
    fs::path above = at.parent_path();
    if (above == at) { break; }
    at = std::move(above);
  }
  return {};
}

/// The commit of a reference that has no file of its own.
std::string packed_commit(const fs::path& common, std::string_view reference) {
  const std::string text = git_file(common / "packed-refs", kMostOfPackedRefs);
  for (std::string_view left = text; !left.empty();) {
    const std::string_view line = without_blanks(next_line(left));
    const std::string_view commit = line.substr(0, line.find(' '));
    if (is_commit(commit) && without_blanks(line.substr(commit.size())) == reference) { return std::string(commit); }
  }
  return "";
}

void read_head(const GitFolders& folders, GitState& state) {
  std::string text = git_file(folders.own / "HEAD");
  for (int links = 0; links < kMostSymbolicRefs; ++links) {
    const std::string reference(value_behind("ref:", text));
    if (reference.empty()) { break; }
    if (!is_reference(reference)) { return; }
    if (links == 0) { state.branch = value_behind("refs/heads/", reference); }
    // A few references, such as refs/worktree/, are a work tree's own.
    text = git_file(folders.own / reference);
    if (text.empty()) { text = git_file(folders.common / reference); }
    if (text.empty()) { text = packed_commit(folders.common, reference); }
  }
  const std::string_view commit = without_blanks(text);
  if (is_commit(commit)) { state.commit = commit; }
  if (state.branch == ".invalid") { state.branch.clear(); }  // what a reftable leaves in HEAD
}

/// A value of git's configuration: without quotes, comments and what they escape. \param text goes on behind it.
std::string config_text(std::string_view& text) {
  std::string value;
  std::size_t keep = 0;  // blanks at the end do not count, but for those in quotes
  bool quoted = false;
  while (!text.empty()) {
    char each = text.front();
    text.remove_prefix(1);
    if (each == '\n' || (!quoted && (each == '#' || each == ';'))) {
      if (each != '\n') { next_line(text); }
      break;
    }
    if (each == '"') {
      quoted = !quoted;
      continue;
    }
    if (each == '\\' && !text.empty()) {
      each = text.front();
      text.remove_prefix(1);
      if (each == '\n') { continue; }
      each = each == 'n' ? '\n' : each == 't' ? '\t' : each;
    }
    value += each;
    if (quoted || kBlanks.find(each) == std::string_view::npos) { keep = value.size(); }
  }
  value.resize(keep);
  return value;
}

/// "origin" of `[remote "origin"]`; empty for another section.
std::string remote_of(std::string_view line) {
  constexpr std::string_view kWord = "[remote";
  const bool is_remote = line.size() > kWord.size() &&
                         std::equal(kWord.begin(), kWord.end(), line.begin(),
                                    [](char a, unsigned char b) { return a == static_cast<char>(std::tolower(b)); });
  const std::size_t quote = is_remote ? line.find_first_not_of(kBlanks, kWord.size()) : std::string_view::npos;
  if (quote == std::string_view::npos || line[quote] != '"') { return ""; }
  std::string name;
  for (std::size_t at = quote + 1; at < line.size() && line[at] != '"'; ++at) {
    if (line[at] == '\\' && at + 1 < line.size()) { ++at; }
    name += line[at];
  }
  return name;
}

/// Each remote with its first address, in order.
std::vector<std::pair<std::string, std::string>> remotes_in(std::string_view config) {
  std::vector<std::pair<std::string, std::string>> remotes;
  std::string section;
  while (!config.empty()) {
    config.remove_prefix(std::min(config.find_first_not_of(kBlanks), config.size()));
    if (config.empty()) { break; }
    if (config.front() == '[') {
      const std::string_view head = config.substr(0, config.find_first_of("]\n"));
      section = remote_of(head);
      config.remove_prefix(std::min(head.size() + 1, config.size()));
      continue;
    }
    const std::string_view name = config.substr(0, config.find_first_of(" \t\r\n=#;"));
    config.remove_prefix(name.size());
    config.remove_prefix(std::min(config.find_first_not_of(" \t"), config.size()));
    if (config.empty() || config.front() != '=') {
      next_line(config);
      continue;
    }
    config.remove_prefix(1);
    config.remove_prefix(std::min(config.find_first_not_of(" \t"), config.size()));
    std::string value = config_text(config);
    const bool is_url = name == "url" || name == "URL" || name == "Url";
    const bool known = !remotes.empty() && remotes.back().first == section;
    if (is_url && !section.empty() && !known) { remotes.emplace_back(section, std::move(value)); }
  }
  return remotes;
}

std::string remote_address(const GitFolders& folders, const std::string& remote) {
  const std::string config = git_file(folders.common / "config");
  const auto remotes = remotes_in(config);
  const auto found =
      std::find_if(remotes.begin(), remotes.end(), [&](const auto& each) { return each.first == remote; });
  if (found != remotes.end()) { return found->second; }
  return remotes.empty() ? "" : remotes.front().second;
}

}  // namespace

GitState git_state(const std::string& directory, const std::string& remote) {
  const GitFolders folders = find_git_folders(directory);
  GitState state;
  if (folders.own.empty()) { return state; }
  state.root = folders.root.string();
  read_head(folders, state);
  state.remote = without_credentials(remote_address(folders, remote));
  return state;
}

std::string without_credentials(const std::string& address) {
  const bool odd =
      std::any_of(address.begin(), address.end(), [](unsigned char each) { return std::iscntrl(each) != 0; });
  const std::size_t helper = address.find("::");
  // "ext::<command>"; of IPv6, "::" is behind a bracket.
  if (odd || (helper != std::string::npos && helper < address.find_first_of("/[@"))) { return ""; }
  const std::size_t scheme = address.find("://");
  if (scheme == std::string::npos) {
    // "user@host:path" is how ssh names a place; with a password in it, it is what somebody took for one.
    const std::size_t at = address.find('@');
    const bool secret = at != std::string::npos && address.find(':') < at;
    return secret ? address.substr(address.rfind('@') + 1) : address;
  }
  const std::size_t begin = scheme + 3;
  std::string place = address.substr(begin, address.find_first_of("?#", begin) - begin);
  std::string_view host(place.data(), std::min(place.find('/'), place.size()));
  // A password with a '/' in it ends what looks like the host.
  const std::size_t colon = host.rfind(':');
  const bool is_port = colon == std::string_view::npos || host.find(']', colon) != std::string_view::npos ||
                       host.find_first_not_of("0123456789", colon + 1) == std::string_view::npos;
  if (host.find('@') == std::string_view::npos && !is_port) { host = place; }
  const std::size_t at = host.rfind('@');
  if (at == std::string_view::npos) { return address.substr(0, begin) + place; }
  std::string user = place.substr(0, std::min(place.find(':'), at));
  const bool ssh = address.compare(0, scheme, "ssh") == 0 || address.compare(0, scheme, "git+ssh") == 0;
  user = ssh && !user.empty() ? user + "@" : "";
  return address.substr(0, begin) + user + place.substr(at + 1);
}

}  // namespace detail
TAKT_END_NAMESPACE
