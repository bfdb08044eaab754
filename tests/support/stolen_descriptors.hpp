// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace takt_test {

/// Returns the descriptors of all open files of this process whose path ends with `suffix`.
inline std::vector<int> open_files(const std::string& suffix) {
  std::vector<int> numbers;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string path = std::filesystem::read_symlink(entry.path(), gone).string();
    if (!gone && path.size() >= suffix.size() &&
        path.compare(path.size() - suffix.size(), suffix.size(), suffix) == 0) {
      numbers.push_back(std::atoi(entry.path().filename().c_str()));
    }
  }
  return numbers;
}

/// Acts like a faulty program: closes a descriptor that it does not own, and gets the same number for a new file at
/// `path`.
inline void steal(int number, const std::string& path) {
  const int own = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ::dup2(own, number);
  if (own != number) { ::close(own); }
}

}  // namespace takt_test
