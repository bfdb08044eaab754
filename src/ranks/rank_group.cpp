// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "ranks/rank_group.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr const char* kStage = "stage";
constexpr const char* kMicroBatches = "micro_batches";
constexpr unsigned kMostMicroBatches = 1'000'000;

int stage_of(const RunInfo& run) {
  for (const auto& [name, number] : run.groups) {
    if (name == kStage) { return number; }
  }
  return JobRank::kNoStage;
}

unsigned micro_batches_of(const Snapshot& snapshot) {
  const auto found = snapshot.params.find(kMicroBatches);
  if (found == snapshot.params.end()) { return 0; }
  const std::string& text = found->second;
  unsigned number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number <= kMostMicroBatches ? number : 0;
}

}  // namespace

std::string group_label(const RunInfo& run) {
  std::string label;
  for (const auto& [name, number] : run.groups) {
    label += (label.empty() ? "" : ", ") + name + " " + std::to_string(number);
  }
  return label;
}

JobRank job_rank_of(const Snapshot& snapshot) {
  const RunInfo& run = snapshot.run;
  return {static_cast<std::uint32_t>(std::max(run.rank, 0)), run.host, group_label(run), stage_of(run),
          micro_batches_of(snapshot)};
}

}  // namespace detail
TAKT_END_NAMESPACE
