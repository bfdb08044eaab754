// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/git_tree.hpp"

#include <takt/detail/program_file.hpp>

#include "base/file.hpp"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// Leaked: any thread may be reading it.
std::atomic<const std::string*> set_program{nullptr};

constexpr std::size_t kMaxOfGitFile = std::size_t{64} << 20U;  // a million packed references

/// Returns a file's text without trailing blanks.
std::string git_text(const std::string& path) {
  std::string text = git_file(path);
  text.resize(text.find_last_not_of(" \t\r\n") + 1);
  return text;
}

/// Returns the text after `prefix` and blanks; empty if `text` does not start with it.
std::string after(std::string_view prefix, const std::string& text) {
  if (text.compare(0, prefix.size(), prefix) != 0) { return ""; }
  return text.substr(std::min(text.find_first_not_of(" \t", prefix.size()), text.size()));
}

std::string path_under(const std::string& directory, const std::string& path) {
  return path.front() == '/' ? path : directory + "/" + path;
}

bool has_mode(const std::string& path, mode_t mode) {
  struct stat status = {};
  return ::stat(path.c_str(), &status) == 0 && (status.st_mode & S_IFMT) == mode;
}

/// Returns git's directory for the work tree at `root`: ".git", or the path in that file; empty if there is none.
std::string git_directory(const std::string& root) {
  std::string directory = root + "/.git";
  if (!has_mode(directory, S_IFDIR)) {
    const std::string elsewhere = after("gitdir:", git_text(directory));
    if (elsewhere.empty()) { return {}; }
    directory = path_under(root, elsewhere);
  }
  return has_mode(directory + "/HEAD", S_IFREG) ? directory : "";
}

/// Returns the commit of a branch or another reference, from its own file or from packed-refs.
std::string commit_of(const std::string& common, const std::string& reference) {
  if (after("refs/", reference).empty() || reference.find("..") != std::string::npos) { return ""; }
  std::string commit = git_text(common + "/" + reference);
  if (!commit.empty()) { return commit; }
  const std::string packed = git_file(common + "/packed-refs");
  const std::size_t end = packed.find(" " + reference + "\n");
  if (end == std::string::npos) { return ""; }
  const std::size_t begin = packed.rfind('\n', end) + 1;  // the first line: npos + 1 is 0
  return packed.substr(begin, end - begin);
}

bool is_commit(const std::string& text) {
  return (text.size() == 40 || text.size() == 64) &&
         std::all_of(text.begin(), text.end(), [](unsigned char each) { return std::isxdigit(each) != 0; });
}

}  // namespace

std::string git_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status = {};
  std::string text;
  const bool read = file.look(status) && S_ISREG(status.st_mode) && read_at(file.number(), 0, kMaxOfGitFile + 1, text);
  return read && text.size() <= kMaxOfGitFile ? text : "";
}

void set_program_file(const char* path) {
  set_program.store(new std::string(path), std::memory_order_release);  // pairs with program_file()
}

std::string program_file() {
  const std::string* const set = set_program.load(std::memory_order_acquire);  // pairs with set_program_file()
  return set == nullptr ? "/proc/self/exe" : *set;
}

GitTree git_tree(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> resolved(::realpath(path.empty() ? "." : path.c_str(), nullptr), ::free);
  struct stat begin = {};
  struct stat status = {};
  GitTree tree;
  if (resolved == nullptr || ::stat(resolved.get(), &begin) != 0) { return tree; }
  std::string at = resolved.get();
  std::string own = git_directory(at);
  while (own.empty()) {
    if (at.size() <= 1) { return tree; }
    at.resize(std::max<std::size_t>(at.rfind('/'), 1));
    if (::stat(at.c_str(), &status) != 0 || status.st_dev != begin.st_dev) { return tree; }
    own = git_directory(at);
  }
  const std::string elsewhere = git_text(own + "/commondir");
  tree.root = at;
  tree.common = elsewhere.empty() ? own : path_under(own, elsewhere);
  tree.commit = git_text(own + "/HEAD");
  if (const std::string reference = after("ref:", tree.commit); !reference.empty()) {
    tree.commit = commit_of(tree.common, reference);
  }
  if (!is_commit(tree.commit)) { tree.commit.clear(); }
  return tree;
}

}  // namespace detail
TAKT_END_NAMESPACE
