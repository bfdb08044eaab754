// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "trackers/findings_text.hpp"

#include <algorithm>
#include <cstddef>

TAKT_BEGIN_NAMESPACE
namespace detail {

std::string findings_text(const Snapshot& snapshot) { return findings_text(snapshot.findings, "takt/summary.json"); }

std::string findings_text(const std::vector<Finding>& findings, std::string_view rest) {
  constexpr std::size_t kMost = 8;
  std::string text;
  for (std::size_t at = 0; at < std::min(findings.size(), kMost); ++at) {
    text += (at == 0 ? "" : "\n") + findings[at].sentence;
  }
  if (findings.size() > kMost) {
    text += "\n" + std::to_string(findings.size() - kMost) + " more in " + std::string(rest);
  }
  return text;
}

}  // namespace detail
TAKT_END_NAMESPACE
