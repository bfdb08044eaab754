// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "wandb_replay.hpp"

#include "protobuf.hpp"

#include <algorithm>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// A key and a value, of an item of config, summary or history.
WandbItem item_of(std::string_view message) {
  WandbItem item;
  for (ProtobufFields at(message); at.next();) {
    if (at.field() == 1) { item.key = at.bytes(); }
    if (at.field() == 16) { item.json = at.bytes(); }
  }
  return item;
}

/// Field 1 repeated. Returns whether there was any.
bool add_items(std::string_view message, std::map<std::string, std::string>& to) {
  bool any = false;
  for (ProtobufFields at(message); at.next();) {
    if (at.field() != 1) { continue; }
    WandbItem item = item_of(at.bytes());
    to[item.key] = std::move(item.json);
    any = true;
  }
  return any;
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
        summary_version_ += add_items(at.bytes(), summary_) ? 1 : 0;
        break;
      case 5:
        config_version_ += add_items(at.bytes(), config_) ? 1 : 0;
        break;
      case 6:
        for (ProtobufFields file(at.bytes()); file.next();) { files_.push_back(item_of(file.bytes()).key); }
        break;
      case 12:
        take_metric(at.bytes());
        break;
      case 17:
        take_run(at.bytes());
        break;
      case 18: {
        exit_code_ = 0;
        for (ProtobufFields field(at.bytes()); field.next();) {
          if (field.field() == 1) { exit_code_ = static_cast<int>(field.number()); }
        }
        break;
      }
      default:
        break;
    }
  }
  return any;
}

void WandbReplay::take_run(std::string_view message) {
  for (ProtobufFields at(message); at.next();) {
    const std::string text(at.bytes());
    switch (at.field()) {
      case 1:
        identity_.id = text;
        break;
      case 2:
        identity_.entity = text;
        break;
      case 3:
        identity_.project = text;
        break;
      case 4:
        add_items(at.bytes(), config_);
        break;
      case 6:
        identity_.group = text;
        break;
      case 7:
        identity_.job_type = text;
        break;
      case 8:
        identity_.name = text;
        break;
      case 9:
        identity_.notes = text;
        break;
      case 10:
        identity_.tags.push_back(text);
        break;
      case 12:
        identity_.sweep_id = text;
        break;
      case 13:
        identity_.host = text;
        break;
      default:
        break;
    }
  }
  ++config_version_;
}

void WandbReplay::take_row(std::string_view message) {
  std::string line;
  for (ProtobufFields at(message); at.next();) {
    if (at.field() != 1) { continue; }
    const WandbItem item = item_of(at.bytes());
    line += (line.empty() ? "{" : ",") + wandb_json(item.key) + ":" + item.json;
  }
  lines_.push_back(line.empty() ? "{}" : line + "}");
  line_bytes_ += lines_.back().size();
  ++lines_so_far_;
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

std::string WandbReplay::summary() const { return object_of(summary_); }

std::string WandbReplay::config_value(const std::string& name) const {
  const auto found = config_.find(name);
  return found == config_.end() ? "null" : found->second;
}

std::string WandbReplay::config(const std::string& producer) const {
  std::map<std::string, std::string> values;
  for (const auto& [name, json] : config_) { values[name] = "{\"value\":" + json + "}"; }
  // A metric is a MetricRecord with the numbers of fields as names; its axis is a number from 1 on in this list.
  std::string metrics;
  for (const Metric& each : metrics_) {
    std::string text = each.glob.empty() ? "\"1\":" + wandb_json(each.name) : "\"2\":" + wandb_json(each.glob);
    const auto axis = std::find_if(metrics_.begin(), metrics_.end(),
                                   [&](const Metric& one) { return !each.axis.empty() && one.name == each.axis; });
    if (axis != metrics_.end()) { text += ",\"5\":" + std::to_string(axis - metrics_.begin() + 1); }
    const std::string options = each.step_sync ? (each.glob.empty() ? "1,3" : "1") : (each.glob.empty() ? "3" : "");
    metrics += (metrics.empty() ? "{" : ",{") + text + ",\"6\":[" + options + "],\"7\":[]}";
  }
  // Resuming takes a run without "t" for one that never began.
  values["_wandb"] = "{\"value\":{\"t\":{\"12\":" + wandb_json(producer) + "},\"m\":[" + metrics + "]}}";
  return object_of(values);
}

}  // namespace detail
TAKT_END_NAMESPACE
