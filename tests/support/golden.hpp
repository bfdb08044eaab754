// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "support/catch.hpp"
#include "support/scratch.hpp"
#include "support/tests_directory.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

namespace takt_test {

/// Returns a diff of both texts: "-" precedes lines only in `before`, "+" lines only in `after`. Common lines are shown
/// only next to a difference.
inline std::string differing_lines(const std::string& before, const std::string& after) {
  const auto lines_of = [](const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) { lines.push_back(line); }
    return lines;
  };
  const std::vector<std::string> a = lines_of(before);
  const std::vector<std::string> b = lines_of(after);
  // Length of the longest common sequence of the remaining lines.
  std::vector<std::vector<std::size_t>> common(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = a.size(); i-- > 0;) {
    for (std::size_t j = b.size(); j-- > 0;) {
      common[i][j] = a[i] == b[j] ? common[i + 1][j + 1] + 1 : std::max(common[i + 1][j], common[i][j + 1]);
    }
  }
  std::vector<std::string> all;
  for (std::size_t i = 0, j = 0; i < a.size() || j < b.size();) {
    if (i < a.size() && j < b.size() && a[i] == b[j]) {
      all.push_back("  " + a[i++]);
      ++j;
    } else if (j == b.size() || (i < a.size() && common[i + 1][j] >= common[i][j + 1])) {
      all.push_back("- " + a[i++]);
    } else {
      all.push_back("+ " + b[j++]);
    }
  }
  std::string text;
  const auto differs = [&all](std::size_t at) { return at < all.size() && all[at][0] != ' '; };
  for (std::size_t at = 0; at < all.size(); ++at) {
    if (differs(at) || differs(at + 1) || (at > 0 && differs(at - 1))) { text += all[at] + "\n"; }
  }
  return text;
}

/// Checks that a report equals tests/data/golden/`file`. With TAKT_UPDATE_GOLDEN=1 in the environment it writes the
/// file and fails anyway, because a run that writes checks nothing.
inline void check_golden(const std::string& file, const std::string& text) {
  const std::filesystem::path tests = tests_directory();
  const std::string path = (tests / "data" / "golden" / file).string();
  const char* const update = std::getenv("TAKT_UPDATE_GOLDEN");
  if (update != nullptr && std::string(update) == "1") {
    write_text(path, text);
    FAIL(path << " is written; run the test again without TAKT_UPDATE_GOLDEN");
  }
  if (read_text(path) == text) {
    SUCCEED();
  } else {
    FAIL_CHECK(path << " differs; TAKT_UPDATE_GOLDEN=1 writes it:\n" << differing_lines(read_text(path), text));
  }
}

}  // namespace takt_test
