// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "wandb/wandb_replay.hpp"

#include "base/encoding.hpp"
#include "base/text.hpp"
#include "trackers/protobuf.hpp"
#include "wandb/wandb_environment.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// Returns a key and a value, as an item of config, summary or history.
WandbItem item_of(std::string_view message) {
  WandbItem item;
  for (ProtobufFields at(message); at.next();) {
    if (at.field() == 1) { item.key = at.bytes(); }
    if (at.field() == 16) { item.json = at.bytes(); }
  }
  return item;
}

/// Converts protobuf's Timestamp to ns since 1970.
std::int64_t unix_ns_of(std::string_view message) {
  std::int64_t unix_ns = 0;
  for (ProtobufFields at(message); at.next();) {
    // The numbers come from a file: product and sum may wrap.
    const auto number = static_cast<std::uint64_t>(at.number());
    const std::uint64_t ns = at.field() == 1 ? number * kSecondNs : at.field() == 2 ? number : 0;
    unix_ns = wrapped_sum(unix_ns, static_cast<std::int64_t>(ns));
  }
  return unix_ns;
}

/// Adds the repeated items of field 1. Returns whether there were any.
bool merge_items(std::string_view message, std::map<std::string, std::string>& to) {
  bool any = false;
  for (ProtobufFields at(message); at.next();) {
    if (at.field() != 1) { continue; }
    WandbItem item = item_of(at.bytes());
    to[item.key] = std::move(item.json);
    any = true;
  }
  return any;
}

std::string value_of(const std::map<std::string, std::string>& values, const std::string& name) {
  const auto found = values.find(name);
  return found == values.end() ? "null" : found->second;
}

std::string object_of(const std::map<std::string, std::string>& values) {
  std::string text;
  for (const auto& [name, json] : values) { text += (text.empty() ? "{" : ",") + wandb_json(name) + ":" + json; }
  return text.empty() ? "{}" : text + "}";
}

}  // namespace

WandbItems wandb_row_items(std::string_view record) {
  WandbItems items;
  for (ProtobufFields at(record); at.next();) {
    if (at.field() != 2) { continue; }
    for (ProtobufFields item(at.bytes()); item.next();) {
      if (item.field() == 1) { items.push_back(item_of(item.bytes())); }
    }
  }
  return items;
}

bool WandbReplay::take(std::string_view record) {
  ProtobufFields at(record);
  bool any = false;
  while (at.next()) {
    any = true;
    switch (at.field()) {
      case 2:
        take_row(at.bytes());
        break;
      case 3:
        summary_version_ += take_summary(at.bytes()) ? 1 : 0;
        break;
      case 5:
        config_version_ += merge_items(at.bytes(), config_) ? 1 : 0;
        break;
      case 6:
        for (ProtobufFields file(at.bytes()); file.next();) { files_.push_back(item_of(file.bytes()).key); }
        break;
      case 7:
        take_system(at.bytes());
        break;
      case 12:
        take_metric(at.bytes());
        break;
      case 17:
        take_run(at.bytes());
        break;
      case 18:
        take_exit(at.bytes());
        break;
      case 26:
        take_environment(at.bytes());
        break;
      default:
        break;
    }
  }
  return any;
}

void WandbReplay::take_exit(std::string_view message) {
  exit_code_ = 0;
  for (ProtobufFields at(message); at.next();) {
    if (at.field() == 1) { exit_code_ = static_cast<int>(at.number()); }
  }
}

void WandbReplay::take_environment(std::string_view message) {
  const WandbMetadata metadata = wandb_metadata(message);
  environment_ = metadata.json;
  writer_id_ = metadata.writer_id;
  identity_.program = metadata.program;
  ++config_version_;
}

bool WandbReplay::take_summary(std::string_view message) {
  bool any = false;
  for (ProtobufFields at(message); at.next();) {
    if (at.field() != 1) { continue; }
    const WandbItem item = item_of(at.bytes());
    summary_[item.key] = moved(item);
    any = true;
  }
  return any;
}

/// Shifts values that count from the start of the run, if the run started before this log.
std::string WandbReplay::moved(const WandbItem& item) const {
  if (!behind_.resumed) { return item.json; }
  if (item.key == "_step") { return std::to_string(std::strtoll(item.json.c_str(), nullptr, 10) + behind_.step); }
  if (item.key == "_runtime") {
    return wandb_json(std::strtod(item.json.c_str(), nullptr) + static_cast<double>(behind_.runtime_s));
  }
  if (item.key != "_wandb") { return item.json; }
  std::string text;
  for (const WandbItem& each : wandb_members(item.json)) {
    const std::int64_t runtime_s = std::strtoll(each.json.c_str(), nullptr, 10) + behind_.runtime_s;
    text += (text.empty() ? "{" : ",") + wandb_json(each.key) + ":" +
            (each.key == "runtime" ? std::to_string(runtime_s) : each.json);
  }
  return text.empty() ? item.json : text + "}";
}

void WandbReplay::go_on_behind(const WandbThere& there, const WandbBehind& behind) {
  behind_ = behind;
  for (const WandbItem& item : there.summary) { summary_[item.key] = item.json; }
  for (const WandbItem& item : there.config) {
    if (item.key != "_wandb") {
      config_before_[item.key] = item.json;
      continue;
    }
    // Settings that users made at W&B; the rest belongs to each writer.
    for (const WandbItem& own : wandb_members(item.json)) {
      if (own.key == "viz" || own.key == "visualize" || own.key == "mask/class_labels") {
        wandb_before_[own.key] = own.json;
      }
    }
  }
}

/// Returns the destination of a run's text field, or null for other fields.
std::string* WandbReplay::place_of(std::uint32_t field) noexcept {
  switch (field) {
    case 1:
      return &identity_.id;
    case 2:
      return &identity_.entity;
    case 3:
      return &identity_.project;
    case 6:
      return &identity_.group;
    case 7:
      return &identity_.job_type;
    case 8:
      return &identity_.name;
    case 9:
      return &identity_.notes;
    case 12:
      return &identity_.sweep_id;
    case 13:
      return &identity_.host;
    default:
      return nullptr;
  }
}

void WandbReplay::take_run(std::string_view message) {
  for (ProtobufFields at(message); at.next();) {
    if (std::string* const place = place_of(at.field())) {
      *place = at.bytes();
    } else if (at.field() == 4) {
      merge_items(at.bytes(), config_);
    } else if (at.field() == 10) {
      identity_.tags.emplace_back(at.bytes());
    } else if (at.field() == 17) {
      identity_.start_unix_ns = unix_ns_of(at.bytes());
    } else if (at.field() == 21) {
      for (ProtobufFields git(at.bytes()); git.next();) {
        if (git.field() == 1) { identity_.remote = git.bytes(); }
        if (git.field() == 2) { identity_.commit = git.bytes(); }
      }
    }
  }
  ++config_version_;
}

void WandbReplay::take_row(std::string_view message) {
  std::string line;
  for (ProtobufFields at(message); at.next();) {
    if (at.field() != 1) { continue; }
    const WandbItem item = item_of(at.bytes());
    line += (line.empty() ? "{" : ",") + wandb_json(item.key) + ":" + moved(item);
  }
  lines_.push_back(line.empty() ? "{}" : line + "}");
  line_bytes_ += lines_.back().size();
  ++lines_so_far_;
}

/// Adds a line as W&B's client sends it: with prefixed names and the time, unlike the log.
void WandbReplay::take_system(std::string_view message) {
  std::int64_t unix_ns = 0;
  std::string metrics;
  for (ProtobufFields at(message); at.next();) {
    if (at.field() == 2) { unix_ns = unix_ns_of(at.bytes()); }
    if (at.field() != 3) { continue; }
    const WandbItem item = item_of(at.bytes());
    metrics += "," + wandb_json("system." + item.key) + ":" + item.json;
  }
  const std::int64_t time_ms = unix_ns / kMillisecondNs;
  const double runtime_s = static_cast<double>(wrapped_difference(unix_ns, identity_.start_unix_ns)) / kSecondNs +
                           static_cast<double>(behind_.runtime_s);
  events_.push_back("{\"_wandb\":true,\"_timestamp\":" + wandb_json(static_cast<double>(time_ms) / 1e3) +
                    ",\"_runtime\":" + wandb_json(runtime_s) + metrics + "}");
  line_bytes_ += events_.back().size();
  ++events_so_far_;
}

void WandbReplay::take_metric(std::string_view message) {
  Metric metric;
  for (ProtobufFields at(message); at.next();) {
    if (at.field() == 1) { metric.name = at.bytes(); }
    if (at.field() == 2) { metric.glob = at.bytes(); }
    if (at.field() == 4) { metric.axis = at.bytes(); }
    if (at.field() != 6) { continue; }
    for (ProtobufFields option(at.bytes()); option.next();) { metric.step_sync |= option.field() == 1; }
  }
  metrics_.push_back(metric);
  ++config_version_;
}

std::vector<std::string> WandbReplay::take_lines() {
  line_bytes_ = 0;
  return std::exchange(lines_, {});
}

std::vector<std::string> WandbReplay::take_events() {
  line_bytes_ = 0;
  return std::exchange(events_, {});
}

std::string WandbReplay::summary() const { return object_of(summary_); }

std::string WandbReplay::config_value(const std::string& name) const { return value_of(config_, name); }

std::string WandbReplay::summary_value(const std::string& name) const { return value_of(summary_, name); }

std::string WandbReplay::config(const std::string& producer) const {
  std::map<std::string, std::string> values;
  for (const auto& [name, json] : config_before_) { values[name] = "{\"value\":" + json + "}"; }
  for (const auto& [name, json] : config_) { values[name] = "{\"value\":" + json + "}"; }
  // A metric is a MetricRecord with field numbers as names; its axis is a 1-based index in this list.
  std::string metrics;
  for (const Metric& each : metrics_) {
    std::string text = each.glob.empty() ? "\"1\":" + wandb_json(each.name) : "\"2\":" + wandb_json(each.glob);
    const auto axis = std::find_if(metrics_.begin(), metrics_.end(),
                                   [&](const Metric& one) { return !each.axis.empty() && one.name == each.axis; });
    if (axis != metrics_.end()) { text += ",\"5\":" + std::to_string(axis - metrics_.begin() + 1); }
    const std::string options = each.step_sync ? (each.glob.empty() ? "1,3" : "1") : (each.glob.empty() ? "3" : "");
    metrics += (metrics.empty() ? "{" : ",{") + text + ",\"6\":[" + options + "],\"7\":[]}";
  }
  // On resume, a run without "t" counts as never started.
  std::string own = "\"t\":{\"12\":" + wandb_json(producer) + "},\"m\":[" + metrics + "]";
  if (!environment_.empty()) { own += ",\"e\":{" + wandb_json(writer_id_) + ":" + environment_ + "}"; }
  for (const auto& [name, json] : wandb_before_) { own += "," + wandb_json(name) + ":" + json; }
  values["_wandb"] = "{\"value\":{" + own + "}}";
  return object_of(values);
}

}  // namespace detail
TAKT_END_NAMESPACE
