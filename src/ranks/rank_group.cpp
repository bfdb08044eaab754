// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "ranks/rank_group.hpp"

TAKT_BEGIN_NAMESPACE
namespace detail {

std::string group_label(const RunInfo& run) {
  std::string label;
  for (const auto& [name, number] : run.groups) {
    label += (label.empty() ? "" : ", ") + name + " " + std::to_string(number);
  }
  return label;
}

}  // namespace detail
TAKT_END_NAMESPACE
