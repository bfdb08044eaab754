// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "wandb/wandb_resume.hpp"

#include "base/json.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

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

std::string member(const WandbItems& items, const std::string& key) {
  const auto found = std::find_if(items.begin(), items.end(), [&](const WandbItem& each) { return each.key == key; });
  return found == items.end() ? "" : found->json;
}

/// 0 for what is no number.
double number(const std::string& json) { return std::strtod(json.c_str(), nullptr); }

/// The last of the lines that are listed there.
WandbItems last_line(const Json& bucket, const char* name) {
  const Json lines = Json::parse(bucket.member(name).text());
  const bool any = lines.is_array() && lines.size() != 0;
  return any ? wandb_members(lines.element(lines.size() - 1).text()) : WandbItems();
}

WandbItems config_in(const Json& bucket) {
  WandbItems config;
  for (const WandbItem& each : wandb_members(bucket.member("config").text())) {
    const std::string value = member(wandb_members(each.json), "value");
    if (!value.empty()) { config.push_back({each.key, value}); }
  }
  return config;
}

WandbBehind behind_of(const Json& bucket, const WandbItems& summary, const WandbItems& history) {
  WandbBehind behind;
  behind.lines = bucket.member("historyLineCount").count();
  behind.events = bucket.member("eventsLineCount").count();
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
    const Json key = Json::parse(take_value(object));
    if (!key.is_text() || object.empty() || object.front() != ':') { break; }
    object.remove_prefix(1);
    skip_blanks(object);
    items.push_back({key.text(), std::string(take_value(object))});
  } while (!object.empty() && object.front() == ',');
  return items;
}

bool wandb_resume_told(const std::string& body, WandbThere& there) {
  const Json reply = Json::parse(body);
  if (!reply.member("data").has("model") || reply.member("errors").size() != 0) { return false; }
  there = WandbThere();
  const Json bucket = reply.at("/data/model/bucket");
  if (!bucket.is_object()) { return true; }
  // "t" is what every client writes into the config of a run that it begins.
  if (!Json::parse(bucket.member("wandbConfig").text()).has("t")) { return true; }
  there.begun = true;
  there.storage_id = bucket.member("id").text();
  there.summary = wandb_members(bucket.member("summaryMetrics").text());
  there.config = config_in(bucket);
  there.notes = bucket.member("notes").text();
  there.last = last_line(bucket, "historyTail");
  there.behind = behind_of(bucket, there.summary, there.last);
  const Json tags = bucket.member("tags");
  for (std::size_t at = 0; tags.is_array() && at < tags.size(); ++at) {
    if (tags.element(at).is_text()) { there.tags.push_back(tags.element(at).text()); }
  }
  return true;
}

bool wandb_is_same_line(const WandbItems& one, const WandbItems& other) {
  return one.size() == other.size() && std::all_of(one.begin(), one.end(), [&](const WandbItem& each) {
           const std::string there = member(other, each.key);
           return there == each.json || (number(there) == number(each.json) && number(there) != 0);
         });
}

std::string wandb_resume_refusal(WandbResume resume, bool is_there, const std::string& id) {
  if (is_there && resume == WandbResume::never) { return "it has a run " + id + ", and WANDB_RESUME is never"; }
  return !is_there && resume == WandbResume::must ? "it has no run " + id + ", and WANDB_RESUME is must" : "";
}

}  // namespace detail
TAKT_END_NAMESPACE
