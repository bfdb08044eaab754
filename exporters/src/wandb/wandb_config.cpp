// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "wandb/wandb_config.hpp"

#include <takt/error.hpp>

#include "base/fault.hpp"
#include "base/format.hpp"
#include "base/json.hpp"
#include "base/json_text.hpp"
#include "trackers/tracker_names.hpp"
#include "wandb/wandb_folder.hpp"
#include "wandb/wandb_key.hpp"

#include <algorithm>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr std::size_t kLongestValue = 1'000'000;  // bytes; W&B says 1 MB
constexpr std::size_t kLongestTag = 64;           // characters
constexpr std::size_t kLongestProject = 128;
constexpr std::size_t kLongestId = 128;

bool continues(char each) { return (static_cast<unsigned char>(each) & 0xC0U) == 0x80U; }

std::size_t characters(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char each) { return !continues(each); }));
}

std::string cut(const std::string& name, const std::string& text) {
  if (text.size() <= kLongestValue) { return text; }
  report_fault_once("wandb.long." + name,
                    "the value of \"" + name + "\" is longer than the megabyte that W&B takes, and was cut");
  std::size_t end = kLongestValue;
  while (end > 0 && continues(text[end])) { --end; }
  return text.substr(0, end);
}

bool has_any(const std::string& text, const char* characters) {
  return text.find_first_of(characters) != std::string::npos;
}

}  // namespace

void check_wandb_options(const WandbOptions& options) {
  const std::string& id = options.run_id;
  if (has_any(id, ":;,#?/'\\\r\n\t") || id.size() > kLongestId ||
      (!id.empty() && (id.front() == ' ' || id.back() == ' '))) {
    throw Error("WANDB_RUN_ID (WandbOptions::run_id) is not an id that W&B takes; use up to " +
                std::to_string(kLongestId) + " letters, digits, - and _");
  }
  if (options.resume == WandbResume::must && id.empty()) {
    throw Error(
        "WANDB_RESUME=must (WandbOptions::resume) wants to go on with a run, and WANDB_RUN_ID does not say with "
        "which; set it to the id of that run");
  }
  if (has_any(options.project, "/\\#?%:") || characters(options.project) > kLongestProject) {
    throw Error("WANDB_PROJECT (WandbOptions::project) is not a name that W&B takes; use at most " +
                std::to_string(kLongestProject) + " characters, and none of /\\#?%:. The entity is WANDB_ENTITY's");
  }
  if (has_any(options.entity, "/")) {
    throw Error("WANDB_ENTITY (WandbOptions::entity) has a / in it; set it to the name of a user or team alone");
  }
  const std::string problem = wandb_key_problem(options.api_key);
  if (options.mode == WandbMode::online && !options.api_key.empty() && !problem.empty()) {
    throw Error("the key for W&B (WANDB_API_KEY, or the password in netrc; WandbOptions::api_key) " + problem +
                ". Copy it again from W&B's page User Settings, or set WANDB_MODE=offline");
  }
  if (options.request_timeout.count() <= 0) {
    throw Error("WandbOptions::request_timeout is not a time; set it to 1 ms or more");
  }
  for (const std::string& tag : options.tags) {
    if (tag.empty() || characters(tag) > kLongestTag) {
      throw Error("a tag in WANDB_TAGS (WandbOptions::tags) does not have 1 to " + std::to_string(kLongestTag) +
                  " characters: \"" + tag + "\"; shorten it");
    }
  }
}

std::string wandb_upload_command(const std::string& folder, const std::string& run_folder, WandbResume resume,
                                 bool begun) {
  // The client puts what it uploads behind all that the server has of the run.
  if (begun && !run_folder.empty()) { return "takt sync --to wandb " + shell_word(run_folder); }
  const char* const other = begun || resume == WandbResume::never ? "--id <another id> " : "";
  return std::string("wandb sync ") + other + shell_word(folder);
}

WandbIdentity wandb_identity(const RunInfo& run, const WandbOptions& options, const std::string& id) {
  const bool one_of_many = options.all_ranks && run.world_size > 1;
  const auto either = [](const std::string& first, const std::string& second) {
    return valid_utf8(first.empty() ? second : first);
  };
  WandbIdentity identity;
  identity.id = either(options.run_id, id);
  if (one_of_many && !options.run_id.empty()) { identity.id += detail::format("-{}", run.rank); }
  identity.resume =
      !options.run_id.empty() && (options.resume == WandbResume::allow || options.resume == WandbResume::must);
  identity.entity = valid_utf8(options.entity);
  identity.project = valid_utf8(options.project);
  identity.group = either(options.group, one_of_many ? run.id : "");
  identity.job_type = either(options.job_type, one_of_many ? "rank" : "");
  identity.name = either(options.name, run.name);
  if (one_of_many) { identity.name += detail::format(" rank-{:04}", run.rank); }
  identity.notes = valid_utf8(options.notes);
  for (const std::string& tag : options.tags) { identity.tags.push_back(valid_utf8(tag)); }
  identity.sweep_id = valid_utf8(options.sweep_id);
  identity.host = valid_utf8(run.host);
  identity.start_unix_ns = run.start_unix_ns;
  return identity;
}

std::string wandb_param(const std::string& name, const std::string& value) {
  const bool may_be = !value.empty() && value.size() < 64 && value.find_first_of(" \t\r\n") == std::string::npos;
  const Json json = may_be ? Json::parse(value) : Json();
  return json.is_number() || json.is_boolean() ? value : wandb_json(cut(name, value));
}

WandbItems WandbConfig::changed(const Snapshot& snapshot) {
  std::map<std::string, std::string> now;
  for (const auto& [name, value] : snapshot.params) {
    const bool reserved = name == "_wandb" || name == "takt" || name == "tags";
    now[valid_utf8(reserved ? "user/" + name : name)] = wandb_param(name, value);
  }
  if (!snapshot.tags.empty()) {
    std::map<std::string, std::string> tags;
    for (const auto& [name, value] : snapshot.tags) { tags[valid_utf8(name)] = valid_utf8(cut(name, value)); }
    now["tags"] = JsonText(tags).text();
  }
  const RunInfo& run = snapshot.run;
  const JsonText takt = {{"attempt", run.attempt},
                         {"host", valid_utf8(run.host)},
                         {"rank", run.rank},
                         {"run_id", valid_utf8(run.id)},
                         {"world_size", run.world_size}};
  now["takt"] = takt.text();
  WandbItems items;
  for (const auto& [key, json] : now) {
    std::string& known = known_[key];
    if (known != json) { items.push_back({key, known = json}); }
  }
  return items;
}

}  // namespace detail
TAKT_END_NAMESPACE
