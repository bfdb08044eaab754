// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "wandb/wandb_config.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/json.hpp"
#include "base/json_text.hpp"
#include "base/report_error.hpp"
#include "trackers/tracker_names.hpp"
#include "wandb/wandb_directory.hpp"

#include <takt/error.hpp>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdlib>
#include <system_error>

#include <sys/stat.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr std::size_t kLongestValue = 1'000'000;  // bytes; W&B's limit is 1 MB
constexpr std::size_t kLongestTag = 64;           // characters
constexpr std::size_t kLongestProject = 128;
constexpr std::size_t kLongestId = 128;

bool continues(char each) { return (static_cast<unsigned char>(each) & 0xC0U) == 0x80U; }

std::size_t characters(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char each) { return !continues(each); }));
}

std::string cut(const std::string& name, const std::string& text) {
  if (text.size() <= kLongestValue) { return text; }
  report_error_once("wandb.long." + name,
                    "the value of \"" + name + "\" is longer than W&B's limit of 1 MB and was truncated");
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
    throw Error("WANDB_RUN_ID (WandbOptions::run_id) is not a valid W&B run id; use up to " +
                std::to_string(kLongestId) + " letters, digits, - and _");
  }
  if (options.resume == WandbResume::must && id.empty()) {
    throw Error(
        "WANDB_RESUME=must (WandbOptions::resume) needs the id of the run to continue, but WANDB_RUN_ID is not "
        "set; set it to that id");
  }
  if (has_any(options.project, "/\\#?%:") || characters(options.project) > kLongestProject) {
    throw Error("WANDB_PROJECT (WandbOptions::project) is not a valid W&B project name; use at most " +
                std::to_string(kLongestProject) + " characters, and none of /\\#?%:. Set the entity with WANDB_ENTITY");
  }
  if (has_any(options.entity, "/")) {
    throw Error("WANDB_ENTITY (WandbOptions::entity) contains a /; set it to the name of a user or team only");
  }
  const std::string problem = wandb_key_problem(options.api_key);
  if (options.mode == WandbMode::online && !options.api_key.empty() && !problem.empty()) {
    throw Error("the key for W&B (WANDB_API_KEY, or the password in netrc; WandbOptions::api_key) " + problem +
                ". Copy it again from W&B's page User Settings, or set WANDB_MODE=offline");
  }
  if (options.request_timeout.count() <= 0) {
    throw Error("WandbOptions::request_timeout is not positive; set it to 1 ms or more");
  }
  for (const std::string& tag : options.tags) {
    if (tag.empty() || characters(tag) > kLongestTag) {
      throw Error("a tag in WANDB_TAGS (WandbOptions::tags) does not have 1 to " + std::to_string(kLongestTag) +
                  " characters: \"" + tag + "\"; shorten it");
    }
  }
}

std::string wandb_upload_command(const std::string& directory, const std::string& run_directory, WandbResume resume,
                                 bool started) {
  // W&B's client appends its upload to everything that the server has of the run.
  if (started && !run_directory.empty()) { return "takt sync --to wandb " + shell_word(run_directory); }
  const char* const other = started || resume == WandbResume::never ? "--id <another id> " : "";
  return std::string("wandb sync ") + other + shell_word(directory);
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

namespace {

constexpr std::size_t kShortest = 40;
constexpr std::size_t kMaxBytes = std::size_t{1} << 20U;

bool is_letter(char each) { return std::isalnum(static_cast<unsigned char>(each)) != 0 || each == '_' || each == '-'; }

/// Returns whether the key has three parts separated by dots, as tokens of W&B's own services.
bool is_web_token(const std::string& key) {
  const std::size_t first = key.find('.');
  const std::size_t second = key.find('.', first + 1);
  return first != std::string::npos && second != std::string::npos && first > 0 && second > first + 1 &&
         second + 1 < key.size() && std::count(key.begin(), key.end(), '.') == 2 &&
         std::all_of(key.begin(), key.end(), [](char each) { return each == '.' || is_letter(each); });
}

/// Words of a netrc, separated by blanks, or in quotes with backslashes.
class Words {
 public:
  explicit Words(std::string_view text) : left_(text) {}

  bool next(std::string& word) {
    word.clear();
    for (;;) {
      left_.remove_prefix(std::min(left_.find_first_not_of(" \t\r\n"), left_.size()));
      if (left_.empty()) { return false; }
      if (left_.front() != '#') { break; }
      skip_line();
    }
    const bool quoted = left_.front() == '"';
    if (quoted) { left_.remove_prefix(1); }
    while (!left_.empty() && (quoted ? left_.front() != '"' : !is_blank(left_.front()))) {
      if (left_.front() == '\\' && left_.size() > 1) { left_.remove_prefix(1); }
      word += left_.front();
      left_.remove_prefix(1);
    }
    if (quoted && !left_.empty()) { left_.remove_prefix(1); }
    return true;
  }
  void skip_line() { left_.remove_prefix(std::min(left_.find('\n'), left_.size())); }
  /// Skips a macro, which ends at an empty line.
  void skip_macro() {
    const std::size_t end = left_.find("\n\n");
    left_.remove_prefix(std::min(end, left_.size()));
  }

 private:
  static bool is_blank(char each) { return each == ' ' || each == '\t' || each == '\r' || each == '\n'; }

  std::string_view left_;
};

std::string lower(std::string text) {
  for (char& each : text) { each = static_cast<char>(std::tolower(static_cast<unsigned char>(each))); }
  return text;
}

/// Returns "host" or "host:port", as in the URL.
std::string machine_of(const std::string& url) {
  const std::size_t scheme = url.find("://");
  std::string rest = scheme == std::string::npos ? url : url.substr(scheme + 3);
  rest = rest.substr(0, rest.find_first_of("/?#"));
  return rest.substr(rest.rfind('@') + 1);  // npos + 1 is 0
}

std::string netrc_file() {
  const std::string named = variable("NETRC");
  const std::string home = variable("HOME");
  if (!named.empty()) { return named.compare(0, 2, "~/") == 0 ? home + named.substr(1) : named; }
  const std::string usual = home + "/.netrc";
  return may_exist(usual) || !may_exist(home + "/_netrc") ? usual : home + "/_netrc";
}

}  // namespace

std::string wandb_key_problem(const std::string& key) {
  if (is_web_token(key)) { return ""; }
  // Keys of self-hosted servers have a prefix that ends in "-".
  const std::size_t dash = key.find('-');
  const std::string secret = dash == std::string::npos ? key : key.substr(dash + 1);
  if (secret.empty() || !std::all_of(secret.begin(), secret.end(), is_letter)) {
    return "has characters other than letters, digits, - and _";
  }
  if (secret.size() < kShortest) {
    return "has " + std::to_string(secret.size()) + " characters, but a key has " + std::to_string(kShortest) +
           " or more";
  }
  return "";
}

std::string netrc_password(std::string_view text, const std::string& machine) {
  const std::string wanted = lower(machine);
  bool ours = false;
  Words words(text);
  for (std::string word; words.next(word);) {
    std::string value;
    if (word == "macdef") {
      words.skip_macro();
    } else if (word == "default") {
      ours = false;
    } else if (word == "machine") {
      ours = words.next(value) && lower(value) == wanted;
    } else if (word == "login" || word == "user" || word == "account" || word == "password") {
      if (words.next(value) && ours && word == "password") { return value; }
    }
  }
  return "";
}

std::string wandb_netrc_key(const std::string& base_url) {
  const std::string path = netrc_file();
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) { return ""; }
  std::string text;
  // Follows links: home directories often link to settings elsewhere.
  char real[PATH_MAX] = {};
  if (::realpath(path.c_str(), real) == nullptr || !read_from(real, 0, kMaxBytes, text)) {
    report_error_once("wandb.netrc", path + " cannot be read: " + std::system_category().message(errno) +
                                         "; make it a file that you may read (chmod 600), or set WANDB_API_KEY");
    return "";
  }
  std::string key = netrc_password(text, machine_of(base_url.empty() ? kWandbUrl : base_url));
  if (!key.empty() && (status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    report_error_once("wandb.netrc.mode", "others can read " + path + ", which has the key for W&B; chmod 600 " + path);
  }
  return key;
}

namespace {

constexpr std::string_view kBlank = " \t\r\n";
constexpr double kLongestRuntime = 2147483647;  // maximum of the official client

void skip_blanks(std::string_view& text) { text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size())); }

/// Removes the first value from `text`, up to the ',' or bracket that ends it, and returns it.
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

/// Returns 0 if the text is not a number.
double number(const std::string& json) { return std::strtod(json.c_str(), nullptr); }

/// Returns the last line in the list `name`.
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
  const std::string reported =
      of_wandb.empty() ? member(summary, "_runtime") : member(wandb_members(of_wandb), "runtime");
  double runtime_s = std::max(number(reported), number(member(history, "_runtime")));
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

bool wandb_resume_reported(const std::string& body, WandbThere& there) {
  const Json reply = Json::parse(body);
  if (!reply.member("data").has("model") || reply.member("errors").size() != 0) { return false; }
  there = WandbThere();
  const Json bucket = reply.at("/data/model/bucket");
  if (!bucket.is_object()) { return true; }
  // Every client writes "t" into the config of a run that it starts.
  if (!Json::parse(bucket.member("wandbConfig").text()).has("t")) { return true; }
  there.started = true;
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
