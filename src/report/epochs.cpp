// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "report/epochs.hpp"

#include "base/epoch_names.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "report/csv.hpp"

#include <set>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {

std::size_t EpochTable::add(const std::vector<Metric>& metrics) {
  std::size_t ended = 0;
  for (const Metric& metric : metrics) {
    if (metric.name == kEpochSteps) {
      next_.steps = metric.value;
    } else if (metric.name == kEpochRate) {
      next_.samples_per_s = metric.value;
    } else if (metric.name == kEpochTime) {
      next_.seconds = metric.value;
      next_.last_step = metric.step;
      next_.end_unix_ns = metric.time_unix_ns;
      if (epochs_.size() < kMaxEpochs) {
        epochs_.push_back(std::move(next_));
      } else {
        ++left_out_;
      }
      next_ = {};
      ++ended;
    } else if (next_.metrics.size() < kMaxMetrics || next_.metrics.count(metric.name) != 0) {
      next_.metrics[metric.name] = metric.value;
    }
  }
  return ended;
}

void EpochTable::fill(Snapshot& snapshot) const {
  snapshot.epochs = epochs_;
  snapshot.epochs_left_out = left_out_;
}

std::string epoch_text(const EpochStats& epoch, const std::string& unit) {
  std::string text = human_time(1e9 * epoch.seconds);
  if (epoch.steps) { text += detail::format(", {} steps", human_count(static_cast<std::uint64_t>(*epoch.steps))); }
  if (epoch.samples_per_s) { text += detail::format(", {} {}/s", human_rate(*epoch.samples_per_s), printable(unit)); }
  for (const auto& [name, value] : epoch.metrics) { text += detail::format(", {} {:.4g}", printable(name), value); }
  return text;
}

std::string epochs_csv(const std::vector<EpochStats>& epochs) {
  std::set<std::string> names;
  for (const EpochStats& each : epochs) {
    for (const auto& [name, value] : each.metrics) { names.insert(name); }
  }
  std::string text = "epoch,last_step,end_unix_ns,seconds,steps,samples_per_s";
  for (const std::string& name : names) { text += "," + csv_field(name); }
  text += "\n";
  const auto cell = [](const std::optional<double>& value) { return value ? detail::format(",{}", *value) : ","; };
  std::size_t number = 0;
  for (const EpochStats& each : epochs) {
    text += detail::format("{},{},{},{}", number++, each.last_step, each.end_unix_ns, each.seconds);
    text += cell(each.steps) + cell(each.samples_per_s);
    for (const std::string& name : names) {
      const auto found = each.metrics.find(name);
      text += found == each.metrics.end() ? "," : detail::format(",{}", found->second);
    }
    text += "\n";
  }
  return text;
}

}  // namespace detail
TAKT_END_NAMESPACE
