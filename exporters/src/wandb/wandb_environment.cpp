// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "wandb/wandb_environment.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/git_tree.hpp"
#include "base/json_text.hpp"
#include "base/secrets.hpp"
#include "base/text.hpp"
#include "trackers/git_state.hpp"
#include "trackers/tracker_names.hpp"
#include "wandb/wandb_rows.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include <sys/utsname.h>
#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxOfSystemFile = std::size_t{4} << 20U;
constexpr std::size_t kMaxArgs = 1000;

// Fields of EnvironmentRecord.
enum : std::uint32_t {
  kOs = 1,
  kStartedAt = 3,
  kArgs = 5,
  kProgram = 6,
  kGit = 9,
  kRoot = 11,
  kHost = 12,
  kExecutable = 14,
  kCpuCount = 16,
  kCpuCountLogical = 17,
  kGpuType = 18,
  kGpuCount = 19,
  kMemory = 21,
  kGpuNvidia = 24,
  kWriterId = 199
};

std::string system_file(const std::string& path) {
  std::string text;
  return read_from(path, 0, kMaxOfSystemFile, text) ? text : "";
}

/// Returns the text after "<name>  :" in each line of `text`.
std::vector<std::string> values_of(const std::string& text, const std::string& name) {
  std::vector<std::string> values;
  for (std::size_t at = 0; at < text.size();) {
    const std::string line = text.substr(at, text.find('\n', at) - at);
    at += line.size() + 1;
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || line.compare(0, name.size(), name) != 0) { continue; }
    if (line.find_first_not_of(" \t", name.size()) != colon) { continue; }
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    values.push_back(begin == std::string::npos ? "" : line.substr(begin, line.find_last_not_of(" \t") + 1 - begin));
  }
  return values;
}

std::vector<std::string> sorted_entries(const std::string& directory) {
  std::vector<std::string> paths;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    paths.push_back(at->path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

void read_cpus(const std::string& system, WandbEnvironment& environment) {
  const std::string text = system_file(system + "/proc/cpuinfo");
  const std::vector<std::string> packages = values_of(text, "physical id");
  const std::vector<std::string> cores = values_of(text, "core id");
  std::set<std::pair<std::string, std::string>> found;
  for (std::size_t at = 0; at < std::min(packages.size(), cores.size()); ++at) {
    found.emplace(packages[at], cores[at]);
  }
  environment.cpus_logical = static_cast<std::int64_t>(values_of(text, "processor").size());
  environment.cpus = found.empty() ? environment.cpus_logical : static_cast<std::int64_t>(found.size());
}

void read_memory(const std::string& system, WandbEnvironment& environment) {
  for (const std::string& value : values_of(system_file(system + "/proc/meminfo"), "MemTotal")) {
    environment.memory_bytes = std::strtoll(value.c_str(), nullptr, 10) * 1024;
  }
}

/// Reads GPU models from the drivers' files: a vendor library would create contexts and take time.
void read_gpus(const std::string& system, WandbEnvironment& environment) {
  for (const std::string& gpu : sorted_entries(system + "/proc/driver/nvidia/gpus")) {
    for (const std::string& model : values_of(system_file(gpu + "/information"), "Model")) {
      environment.gpus.push_back(valid_utf8(model));
    }
  }
  environment.has_nvidia = !environment.gpus.empty();
  if (environment.has_nvidia) { return; }
  for (const std::string& card : sorted_entries(system + "/sys/class/drm")) {
    const std::string name = fs::path(card).filename().string();
    if (name.compare(0, 4, "card") != 0 || name.find('-') != std::string::npos) { continue; }
    const std::string model = system_file(card + "/device/product_name");
    const std::string line = model.substr(0, model.find('\n'));
    if (!line.empty()) { environment.gpus.push_back(valid_utf8(line)); }
  }
}

void read_command(const std::string& system, const WandbOptions& options, WandbEnvironment& environment) {
  const std::string text = system_file(system + "/proc/self/cmdline");
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size() && words.size() <= kMaxArgs;) {
    words.push_back(valid_utf8(text.substr(at, text.find('\0', at) - at)));
    at = text.find('\0', at);
    at += at == std::string::npos ? 0 : 1;
    if (at == std::string::npos) { break; }
  }
  std::error_code error;
  environment.executable = valid_utf8(fs::read_symlink(system + "/proc/self/exe", error).string());
  environment.root = valid_utf8(fs::current_path(error).string());
  environment.program = valid_utf8(options.program);
  if (words.empty()) { return; }
  if (environment.program.empty()) { environment.program = words.front(); }
  words.erase(words.begin());
  if (options.arguments) { environment.args = without_secrets(std::move(words), options.api_key); }
}

std::string rfc3339(std::int64_t seconds, std::int64_t ns) {
  const UtcTime time = utc_time(seconds);
  return detail::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:09}Z", time.year, time.month, time.day, time.hour,
                        time.minute, time.second, ns);
}

/// Returns the numbers in fields 1 and 2 of a message.
std::pair<std::int64_t, std::int64_t> numbers_in(std::string_view message) {
  std::pair<std::int64_t, std::int64_t> found;
  for (ProtobufFields at(message); at.next();) {
    if (at.field() == 1) { found.first = at.number(); }
    if (at.field() == 2) { found.second = at.number(); }
  }
  return found;
}

/// The members of a JSON object, in order; the last of equal names wins.
class MetadataMembers {
 public:
  JsonText& operator[](std::string_view name) {
    const auto found =
        std::find_if(members_.begin(), members_.end(), [name](const auto& each) { return each.first == name; });
    return found == members_.end() ? members_.emplace_back(name, JsonText()).second : found->second;
  }
  /// Appends to an array, which is created if it does not exist.
  void push_back(std::string_view name, const JsonText& element) {
    JsonText& value = (*this)[name];
    if (!value.is_array()) { value = JsonText::array(); }
    value.push_back(element);
  }
  JsonText json() const {
    JsonText object = JsonText::object();
    for (const auto& [name, value] : members_) { object.add(name, value); }
    return object;
  }

 private:
  std::vector<std::pair<std::string_view, JsonText>> members_;  // string literals
};

JsonText texts_in(std::string_view message, const char* first, const char* second) {
  MetadataMembers found;
  for (ProtobufFields at(message); at.next();) {
    if (at.field() == 1) { found[first] = at.bytes(); }
    if (at.field() == 2 && second != nullptr) { found[second] = at.bytes(); }
  }
  return found.json();
}

/// Returns the name of a text field in the client's file, or null for other fields.
const char* text_field(std::uint32_t field) {
  switch (field) {
    case kOs:
      return "os";
    case kProgram:
      return "program";
    case kRoot:
      return "root";
    case kHost:
      return "host";
    case kExecutable:
      return "executable";
    case kGpuType:
      return "gpu";
    case kWriterId:
      return "writerId";
    default:
      return nullptr;
  }
}

void put_field(const ProtobufFields& at, MetadataMembers& json) {
  const std::string text(at.bytes());
  if (const char* const name = text_field(at.field())) {
    json[name] = text;
    return;
  }
  switch (at.field()) {
    case kStartedAt:
      json["startedAt"] = rfc3339(numbers_in(text).first, numbers_in(text).second);
      break;
    case kArgs:
      json.push_back("args", text);
      break;
    case kGit:
      json["git"] = texts_in(text, "remote", "commit");
      break;
    case kCpuCount:
      json["cpu_count"] = at.number();
      break;
    case kCpuCountLogical:
      json["cpu_count_logical"] = at.number();
      break;
    case kGpuCount:
      json["gpu_count"] = at.number();
      break;
    case kMemory:
      json["memory"] = {{"total", std::to_string(numbers_in(text).first)}};  // 64-bit integers are text in this file
      break;
    case kGpuNvidia:
      json.push_back("gpu_nvidia", texts_in(text, "name", nullptr));
      break;
    default:
      break;
  }
}

}  // namespace

WandbEnvironment wandb_environment(const WandbOptions& options, const std::string& system) {
  WandbEnvironment environment;
  std::error_code error;
  if (options.git) {
    GitState git = git_state("", options.git_remote);
    // A job's working directory often contains no code.
    const std::string program = program_file();
    if (git.root.empty() && !program.empty()) { git = git_state(system + program, options.git_remote); }
    environment.commit = valid_utf8(options.git_commit.empty() ? git.commit : options.git_commit);
    environment.remote =
        valid_utf8(options.git_remote_url.empty() ? git.remote : without_credentials(options.git_remote_url));
  }
  if (!options.metadata) { return environment; }
  environment.known = true;
  struct utsname name = {};
  if (::uname(&name) == 0) { environment.os = detail::format("{}-{}-{}", name.sysname, name.release, name.machine); }
  read_command(system, options, environment);
  read_cpus(system, environment);
  read_memory(system, environment);
  read_gpus(system, environment);
  return environment;
}

Protobuf wandb_environment_message(const WandbEnvironment& environment, const std::string& host,
                                   std::int64_t start_unix_ns, const std::string& writer_id) {
  Protobuf message;
  message.text(kOs, environment.os);
  message.message(kStartedAt, wandb_time(start_unix_ns));
  for (const std::string& arg : environment.args) { message.text(kArgs, arg); }
  message.text(kProgram, environment.program);
  if (!environment.commit.empty() || !environment.remote.empty()) {
    message.message(kGit, Protobuf().text(1, environment.remote).text(2, environment.commit));
  }
  message.text(kRoot, environment.root).text(kHost, host).text(kExecutable, environment.executable);
  message.number(kCpuCount, environment.cpus).number(kCpuCountLogical, environment.cpus_logical);
  if (!environment.gpus.empty()) { message.text(kGpuType, environment.gpus.front()); }
  message.number(kGpuCount, static_cast<std::int64_t>(environment.gpus.size()));
  message.message(kMemory, Protobuf().number(1, environment.memory_bytes));
  for (const std::string& gpu : environment.gpus) {
    if (environment.has_nvidia) { message.message(kGpuNvidia, Protobuf().text(1, gpu)); }
  }
  return message.text(kWriterId, writer_id);
}

WandbMetadata wandb_metadata(std::string_view message) {
  MetadataMembers json;
  WandbMetadata metadata;
  for (ProtobufFields at(message); at.next();) {
    put_field(at, json);
    if (at.field() == kWriterId) { metadata.writer_id = at.bytes(); }
    if (at.field() == kProgram) { metadata.program = at.bytes(); }
  }
  metadata.json = json.json().text();
  return metadata;
}

}  // namespace detail
TAKT_END_NAMESPACE
