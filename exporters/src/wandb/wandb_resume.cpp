// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "wandb/wandb_resume.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdlib>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

using Reply = nlohmann::json;

constexpr std::string_view kBlank = " \t\r\n";
constexpr double kLongestRuntime = 2147483647;  // what the official client has room for

void skip_blanks(std::string_view& text) { text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size())); }

/// The text of the value that `text` begins with, which goes from it: up to the ',' or bracket that ends it.
std::string_view take_value(std::string_view& text) {
  int depth = 0;
  bool quoted = false;
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    const char each = text[at];
    if (quoted) {
      if (each == '\\') { ++at; }
      quoted = each != '"';
      continue;
    }
    if (depth == 0 && (each == ',' || each == ':' || each == '}' || each == ']')) { break; }
    quoted = each == '"';
    depth += each == '{' || each == '[' ? 1 : each == '}' || each == ']' ? -1 : 0;
  }
  at = std::min(at, text.size());
  std::string_view value = text.substr(0, at);
  text.remove_prefix(at);
  while (!value.empty() && kBlank.find(value.back()) != std::string_view::npos) { value.remove_suffix(1); }
  return value;
}

std::string text_of(const Reply& bucket, const char* name) {
  const auto found = bucket.find(name);
  return found != bucket.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string member(const WandbItems& items, const std::string& key) {
  const auto found = std::find_if(items.begin(), items.end(), [&](const WandbItem& each) { return each.key == key; });
  return found == items.end() ? "" : found->json;
}

/// 0 for what is no number.
double number(const std::string& json) { return std::strtod(json.c_str(), nullptr); }

/// The last of the lines that are listed there.
WandbItems last_line(const Reply& bucket, const char* name) {
  const Reply lines = Reply::parse(text_of(bucket, name), nullptr, false);
  const bool any = lines.is_array() && !lines.empty() && lines.back().is_string();
  return any ? wandb_members(lines.back().get<std::string>()) : WandbItems();
}

WandbItems config_in(const Reply& bucket) {
  WandbItems config;
  for (const WandbItem& each : wandb_members(text_of(bucket, "config"))) {
    const std::string value = member(wandb_members(each.json), "value");
    if (!value.empty()) { config.push_back({each.key, value}); }
  }
  return config;
}

std::uint64_t count_in(const Reply& bucket, const char* name) {
  const auto found = bucket.find(name);
  return found != bucket.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

WandbBehind behind_of(const Reply& bucket, const WandbItems& summary) {
  WandbBehind behind;
  behind.lines = count_in(bucket, "historyLineCount");
  behind.events = count_in(bucket, "eventsLineCount");
  const WandbItems history = last_line(bucket, "historyTail");
  const std::string in_history = member(history, "_step");
  const std::string last = in_history.empty() ? member(summary, "_step") : in_history;
  behind.step = std::strtoll(last.c_str(), nullptr, 10) + (behind.lines != 0 ? 1 : 0);
  const std::string of_wandb = member(summary, "_wandb");
  const std::string told = of_wandb.empty() ? member(summary, "_runtime") : member(wandb_members(of_wandb), "runtime");
  double runtime_s = std::max(number(told), number(member(history, "_runtime")));
  runtime_s = std::max(runtime_s, number(member(last_line(bucket, "eventsTail"), "_runtime")));
  behind.runtime_s = runtime_s > 0 && runtime_s < kLongestRuntime ? static_cast<std::int64_t>(runtime_s) : 0;
  return behind;
}

}  // namespace

WandbItems wandb_members(std::string_view object) {
  WandbItems items;
  skip_blanks(object);
  if (object.empty() || object.front() != '{') { return {}; }
  do {
    object.remove_prefix(1);
    skip_blanks(object);
    const Reply key = Reply::parse(take_value(object), nullptr, false);
    if (!key.is_string() || object.empty() || object.front() != ':') { break; }
    object.remove_prefix(1);
    skip_blanks(object);
    items.push_back({key.get<std::string>(), std::string(take_value(object))});
  } while (!object.empty() && object.front() == ',');
  return items;
}

bool wandb_resume_told(const std::string& body, WandbThere& there) {
  const Reply reply = Reply::parse(body, nullptr, false);
  const auto data = reply.is_object() ? reply.find("data") : reply.end();
  if (!reply.is_object() || data == reply.end() || !data->is_object() || !data->contains("model")) { return false; }
  if (reply.contains("errors") && !reply["errors"].empty()) { return false; }
  there = WandbThere();
  const Reply& model = (*data)["model"];
  if (!model.is_object() || !model.contains("bucket") || !model["bucket"].is_object()) { return true; }
  const Reply& bucket = model["bucket"];
  // "t" is what every client writes into the config of a run that it begins.
  const Reply started = Reply::parse(text_of(bucket, "wandbConfig"), nullptr, false);
  if (!started.is_object() || !started.contains("t")) { return true; }
  there.begun = true;
  there.storage_id = text_of(bucket, "id");
  there.summary = wandb_members(text_of(bucket, "summaryMetrics"));
  there.config = config_in(bucket);
  there.notes = text_of(bucket, "notes");
  there.behind = behind_of(bucket, there.summary);
  if (!bucket.contains("tags") || !bucket["tags"].is_array()) { return true; }
  for (const Reply& tag : bucket["tags"]) {
    if (tag.is_string()) { there.tags.push_back(tag.get<std::string>()); }
  }
  return true;
}

std::string wandb_resume_refusal(WandbResume resume, bool is_there, const std::string& id) {
  if (is_there && resume == WandbResume::never) { return "it has a run " + id + ", and WANDB_RESUME is never"; }
  return !is_there && resume == WandbResume::must ? "it has no run " + id + ", and WANDB_RESUME is must" : "";
}

}  // namespace detail
TAKT_END_NAMESPACE
