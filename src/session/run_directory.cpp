// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "session/run_directory.hpp"

#include "base/file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <system_error>

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr int kMostSuffixes = 1000;

bool is_safe(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}

/// The end of a text that was cut: tells apart two long texts that begin alike, and is the same on every rank.
std::string hash_suffix(std::string_view text) {
  std::string suffix = "-";
  std::uint64_t hash = hash_name(std::string(text).c_str());
  for (int digit = 0; digit < 16; ++digit, hash >>= 4U) { suffix += "0123456789abcdef"[hash & 15U]; }
  return suffix;
}

/// A run is where it was started, also for a program that changes its folder later.
std::string make_absolute(const std::string& path) {
  char here[PATH_MAX];
  if (path.front() == '/' || ::getcwd(here, sizeof here) == nullptr) { return path; }
  return std::string(here) + "/" + path;
}

class Directory {
 public:
  explicit Directory(const std::string& path)
      : descriptor_(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) {}
  ~Directory() {
    if (descriptor_ >= 0) { ::close(descriptor_); }
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

/// Makes one that was not there, a link included; errno says why not.
bool make_fresh(const Directory& parent, const std::string& name) {
  if (::mkdirat(parent.descriptor(), name.c_str(), S_IRWXU) != 0) { return false; }
  struct stat status = {};
  if (::fstatat(parent.descriptor(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) { return false; }
  // An umask may take the owner's own bits away.
  return (status.st_mode & S_IRWXU) == S_IRWXU ||
         ::fchmodat(parent.descriptor(), name.c_str(), (status.st_mode & 07000U) | S_IRWXU, 0) == 0;
}

}  // namespace

std::string path_component(std::string_view text, std::size_t longest) {
  std::string safe;
  for (const char c : text.substr(0, 64U * longest)) {
    const char last = safe.empty() ? '\0' : safe.back();
    if (is_safe(c) && !(last == '\0' && (c == '.' || c == '-')) && !(c == '.' && last == '.')) {
      safe += c;
    } else if (last != '_' && last != '.') {
      safe += '_';
    }
  }
  if (safe.size() > longest || text.size() > 64U * longest) {
    const std::string suffix = hash_suffix(text);
    safe.resize(std::min(safe.size(), longest - suffix.size()));
    safe += suffix;
  }
  return safe.empty() ? "takt" : safe;
}

std::string make_run_folder(const SessionOptions& options, const RunInfo& run, std::string& error) {
  const std::string& directory = options.directory;
  if (directory.empty() || directory.find('\0') != std::string::npos) {
    error = "the folder for runs has no name, or a zero byte in it; set TAKT_DIR to a folder that can be written";
    return {};
  }
  const std::string parent_path = make_absolute(directory) + "/" + path_component(run.id, kLongestRunId);
  const std::string name =
      "rank-" + std::to_string(run.rank) + "-" + std::to_string(run.attempt) + "-" + std::to_string(run.pid);
  if (!make_directories(parent_path, error)) { return {}; }
  const Directory parent(parent_path);
  int why = parent.descriptor() < 0 ? errno : EEXIST;
  for (int suffix = 0; why == EEXIST && suffix < kMostSuffixes; ++suffix) {
    const std::string fresh = suffix == 0 ? name : name + "-" + std::to_string(suffix);
    if (make_fresh(parent, fresh)) { return parent_path + "/" + fresh; }
    why = errno;
  }
  error = "cannot make the folder " + parent_path + "/" + name + ": " + std::system_category().message(why) +
          "; set TAKT_DIR to a folder that can be written";
  return {};
}

}  // namespace detail
TAKT_END_NAMESPACE
