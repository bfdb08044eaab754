// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cctype>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

namespace takt_test {

/// The result of mentions(): true if nothing is missing. Catch prints the text and the missing facts.
struct Mentioned {
  std::string text;
  std::string missing;

  explicit operator bool() const { return missing.empty(); }
  friend std::ostream& operator<<(std::ostream& stream, const Mentioned& found) {
    return stream << '"' << found.text << "\" without: " << found.missing;
  }
};

/// Returns true if both characters belong to one word or number.
inline bool same_word(const std::string& text, std::size_t left, std::size_t right) {
  const auto in_word = [&text](std::size_t at) {
    const auto each = static_cast<unsigned char>(text[at]);
    return std::isalnum(each) != 0 || each == '_' || each >= 0x80;
  };
  const auto is_digit = [&text](std::size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '9'; };
  const bool in_number = (text[right] == '.' && is_digit(left) && is_digit(right + 1)) ||
                         (text[left] == '.' && is_digit(right) && left > 0 && is_digit(left - 1));
  return in_number || (in_word(left) && in_word(right));
}

/// Returns true if `fact` is a separate word or number in `text`: "12" is not found in "112" or "12.5".
inline bool has_fact(const std::string& text, const std::string& fact) {
  for (std::size_t at = text.find(fact); at != std::string::npos; at = text.find(fact, at + 1)) {
    const std::size_t end = at + fact.size();
    const bool begins = at == 0 || !same_word(text, at - 1, at);
    if (begins && (end == text.size() || !same_word(text, end - 1, end))) { return true; }
  }
  return false;
}

/// Checks that a sentence contains all these facts (names, values, numbers), in any words and order.
inline Mentioned mentions(const std::string& text, const std::vector<std::string>& facts) {
  Mentioned found{text, ""};
  for (const std::string& fact : facts) {
    if (!has_fact(text, fact)) { found.missing += "\n  " + fact; }
  }
  return found;
}

/// The same, but one line of `text` must contain all of them.
inline Mentioned line_mentions(const std::string& text, const std::vector<std::string>& facts) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (mentions(line, facts)) { return {line, ""}; }
  }
  Mentioned found{text, ""};
  for (const std::string& fact : facts) { found.missing += "\n  " + fact; }
  return found;
}

/// Returns the lines of `after` that `before` lacks, as one text: the additional lines of a report.
inline std::string new_lines(const std::string& before, const std::string& after) {
  std::vector<std::string> known;
  std::istringstream old(before);
  for (std::string line; std::getline(old, line);) { known.push_back(line); }
  std::string found;
  std::istringstream lines(after);
  for (std::string line; std::getline(lines, line);) {
    if (std::find(known.begin(), known.end(), line) == known.end()) { found += line + "\n"; }
  }
  return found;
}

}  // namespace takt_test
