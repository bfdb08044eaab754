// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/error.hpp>
#include <takt/exporters/slack.hpp>
#include <takt/snapshot.hpp>
#include <takt/summary.hpp>

#include <cmath>
#include <mutex>
#include <optional>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace {

/// Returns true if the path is of this region, below the Batch and not inside the same region.
bool is_outermost_path(const Snapshot& snapshot, std::uint32_t path, std::uint32_t batch, const std::string& region) {
  if (path >= snapshot.paths.size() || snapshot.paths[path].name != region) { return false; }
  for (std::uint32_t above = snapshot.paths[path].parent; above != kNoIndex && above != batch;
       above = snapshot.paths[above].parent) {
    if (snapshot.paths[above].name == region) { return false; }
  }
  return true;
}

/// Returns the region's time in the step; nothing if a stream span of it is missing.
std::optional<std::uint64_t> time_in(const Snapshot& snapshot, const Row& row, const SlackOptions& options) {
  const std::uint32_t batch = snapshot.series[row.series].path;
  std::uint64_t sum_ns = 0;
  for (const Cell& each : row.cells) {
    if (!is_outermost_path(snapshot, each.path, batch, options.region)) { continue; }
    const std::int64_t ns = options.on_stream ? each.device_ns : each.host_ns;
    if (ns < 0) { return std::nullopt; }
    sum_ns += static_cast<std::uint64_t>(ns);
  }
  return sum_ns;
}

}  // namespace

struct Slack::Impl {
  explicit Impl(SlackOptions given) : options(std::move(given)) {}

  void add(const Snapshot& snapshot, const Row& row);

  mutable std::mutex mutex;
  const SlackOptions options;
  std::uint64_t next_row = 0;
  std::uint64_t left_out = 0;
  std::uint64_t exposed_cycles = 0;
  double exposed_ns = 0;
  double nodes = 0;  // of all cycles
  Summary used;
};

void Slack::Impl::add(const Snapshot& snapshot, const Row& row) {
  const std::optional<std::uint64_t> used_ns = time_in(snapshot, row, options);
  if (!used_ns || (row.warmup && !options.warmup)) {
    ++left_out;
    return;
  }
  used.add(*used_ns);
  nodes += static_cast<double>(row.items);
  const auto budget_ns = static_cast<std::uint64_t>(options.budget.count());
  if (*used_ns <= budget_ns) { return; }
  ++exposed_cycles;
  exposed_ns += static_cast<double>(*used_ns - budget_ns);
}

Slack::Slack(SlackOptions options) {
  if (options.region.empty()) { throw Error("takt::Slack: name the region, such as \"Inference\""); }
  if (options.budget.count() <= 0) {
    throw Error("takt::Slack: the budget of " + options.region + " must be above 0: the slack time of one cycle");
  }
  if (!std::isfinite(options.nodes) || options.nodes < 0) {
    throw Error("takt::Slack: the nodes of " + options.region + " must be 0 (unknown) or above");
  }
  impl_ = std::make_shared<Impl>(std::move(options));
}
Slack::~Slack() = default;
Slack::Slack(const Slack&) = default;
Slack& Slack::operator=(const Slack&) = default;

ExportResult Slack::export_snapshot(const Snapshot& snapshot) {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  for (const Row& row : snapshot.rows) {
    if (row.sequence < impl_->next_row || row.series >= snapshot.series.size()) { continue; }
    impl_->add(snapshot, row);
    impl_->next_row = row.sequence + 1;
  }
  return ExportResult::ok;
}

SlackUse Slack::use() const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  const Stats stats = impl_->used.stats();
  SlackUse use;
  use.cycles = stats.n;
  use.left_out = impl_->left_out;
  use.budget_ns = static_cast<double>(impl_->options.budget.count());
  if (impl_->options.nodes > 0) { use.node_budget_ns = use.budget_ns / impl_->options.nodes; }
  if (use.cycles == 0) { return use; }
  use.mean_ns = stats.mean_ns;
  use.stdev_ns = use.cycles > 1 ? stats.stdev_ns : 0;
  use.max_ns = stats.max_ns;
  use.coverage = use.mean_ns / use.budget_ns;
  use.exposed_cycles = impl_->exposed_cycles;
  use.exposed_ns = impl_->exposed_ns / static_cast<double>(use.cycles);
  use.nodes = impl_->nodes / static_cast<double>(use.cycles);
  if (use.nodes > 0) { use.node_ns = use.mean_ns / use.nodes; }
  if (use.node_budget_ns > 0) { use.node_coverage = use.node_ns / use.node_budget_ns; }
  return use;
}

TAKT_END_NAMESPACE
