// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "wandb/wandb_directory.hpp"

#include "base/file.hpp"
#include "base/json.hpp"
#include "base/json_text.hpp"
#include "base/report_error.hpp"
#include "trackers/tracker_files.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <ctime>
#include <filesystem>
#include <random>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr std::size_t kIdLength = 8;
constexpr std::size_t kPiece = std::size_t{1} << 20U;

/// Returns "20261122_173059", in local time, as W&B's own client formats it.
std::string stamp(std::int64_t unix_ns) {
  const auto seconds = static_cast<std::time_t>(unix_ns / 1'000'000'000);
  std::tm parts = {};
  ::localtime_r(&seconds, &parts);
  char text[16] = {};
  std::strftime(text, sizeof text, "%Y%m%d_%H%M%S", &parts);
  return text;
}

/// Creates a directory with its parents. Follows links: a home or scratch directory is often one.
bool make_parents(const std::string& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) == 0) {
    errno = ENOTDIR;
    return S_ISDIR(status.st_mode);
  }
  const std::size_t slash = path.find_last_of('/');
  if (slash != std::string::npos && slash != 0 && !make_parents(path.substr(0, slash))) { return false; }
  return make_own_directory(path) || errno == EEXIST;  // another rank was faster
}

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

bool make_own_directory(const std::string& path) {
  struct stat status = {};
  if (::mkdir(path.c_str(), S_IRWXU) != 0 || ::lstat(path.c_str(), &status) != 0) { return false; }
  return (status.st_mode & S_IRWXU) == S_IRWXU || ::chmod(path.c_str(), (status.st_mode & 07000U) | S_IRWXU) == 0;
}

std::string new_wandb_id() {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789";
  std::random_device device;
  std::uniform_int_distribution<std::size_t> any(0, kLetters.size() - 1);
  std::string id;
  while (id.size() < kIdLength) { id += kLetters[any(device)]; }
  return id;
}

std::string wandb_root(const std::string& directory) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path absolute = fs::absolute(directory.empty() ? "." : directory, error);
  const fs::path root = error ? fs::path(directory) : absolute.lexically_normal();
  const bool dotted = fs::exists(root / ".wandb", error);
  return (root / (dotted ? ".wandb" : "wandb")).string();
}

std::string make_wandb_directory(const std::string& root, std::int64_t start_unix_ns, const std::string& run_id,
                                 std::string& error) {
  std::string directory = root + "/offline-run-" + stamp(start_unix_ns) + "-" + run_id;
  if (make_parents(root) && make_own_directory(directory) && make_own_directory(directory + "/files")) {
    return directory;
  }
  if (errno == EEXIST) {
    error = directory +
            " already exists: another run with this id started in the same second. Give each run its own WANDB_RUN_ID, "
            "or none";
  } else {
    error = wandb_error("make the directory", directory, errno);
  }
  return "";
}

std::string wandb_error(const char* what, const std::string& path, int number) {
  return std::string("cannot ") + what + " " + path + ": " + reason_of(number) +
         "; free disk space, or set WANDB_DIR to a writable directory";
}

bool write_new_file(const DirectoryFiles& directory, const std::string& name, const std::string& text) {
  const Descriptor file = directory.create(name, O_WRONLY);
  return file.is_open() && write_all(file.number(), text) == text.size();
}

bool attach_time_line(const DirectoryFiles& from, const DirectoryFiles& to,
                      std::chrono::steady_clock::time_point until) {
  constexpr const char* kName = "trace.json";
  const Descriptor source = open_time_line(from);
  struct stat status = {};
  if (!source.look(status)) { return false; }
  // For another user's file, a copy of its current content is enough.
  if (status.st_uid == ::geteuid() && to.link(source, kName)) { return true; }
  const Descriptor copy = to.create(kName, O_WRONLY);
  if (!copy.is_open()) { return false; }
  std::string piece;
  for (std::uint64_t done = 0; read_at(source.number(), done, kPiece, piece); done += piece.size()) {
    if (write_all(copy.number(), piece) != piece.size()) { break; }
    if (piece.size() < kPiece) { return true; }
    if (std::chrono::steady_clock::now() >= until) {
      errno = ETIMEDOUT;
      break;
    }
    piece.clear();
  }
  const int why = errno;
  to.remove(kName);  // a partial copy is useless, and later files need the space
  errno = why;
  return false;
}

Descriptor open_below(const DirectoryFiles& directory, const std::string& path) {
  const std::size_t slash = path.find('/');
  if (slash == std::string::npos) { return directory.open(path, O_RDONLY); }
  return open_below(directory.directory(path.substr(0, slash)), path.substr(slash + 1));
}

bool parse_place_of_log(const std::string& path, WandbPlaceOfLog& place) {
  constexpr std::string_view kDirectory = "offline-run-";
  constexpr std::string_view kTime = "20261122_173059";
  place.file = name_part(path);
  place.directory = name_part(directory_part(path));
  place.root = directory_part(directory_part(path));
  const std::string root = name_part(place.root);
  const std::size_t id_at = kDirectory.size() + kTime.size() + 1;
  if (path.empty() || path.front() != '/' || (root != "wandb" && root != ".wandb")) { return false; }
  if (place.directory.size() <= id_at || place.directory.compare(0, kDirectory.size(), kDirectory) != 0) {
    return false;
  }
  const std::string time = place.directory.substr(kDirectory.size(), kTime.size());
  place.id = place.directory.substr(id_at);
  return is_digits(time.substr(0, 8)) && time[8] == '_' && is_digits(time.substr(9)) &&
         place.directory[id_at - 1] == '-' && is_entry_name(place.id) && place.file == "run-" + place.id + ".wandb";
}

std::string shell_word(const std::string& text) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./";
  if (text.find_first_not_of(kPlain) == std::string::npos) { return text; }
  std::string word = "'";
  for (const char each : text) { word += each == '\'' ? std::string("'\\''") : std::string(1, each); }
  return word + "'";
}

namespace {

constexpr std::uint64_t kOutputPiece = std::uint64_t{1} << 20U;

}  // namespace

void WandbOutput::copy(const DirectoryFiles& to, std::uint64_t max) {
  if (path_.empty()) { return; }
  const std::uint64_t end = std::min(copied_ + max, kMaxBytes);
  while (copied_ < end) {
    const auto piece = static_cast<std::size_t>(std::min(kOutputPiece, end - copied_));
    std::string bytes;
    if (!read_from(path_, copied_, piece, bytes)) {
      if (errno != ENOENT) {
        report_error_once("wandb.output", explain_error("read", path_, errno) + " (WandbOptions::output_log)");
      }
      return;
    }
    if (bytes.empty()) { return; }
    Descriptor copy = to.open(kName, O_WRONLY);
    if (!copy.is_open() && errno == ENOENT) { copy = to.create(kName, O_WRONLY); }
    const bool placed = copy.is_open() && ::lseek(copy.number(), static_cast<off_t>(copied_), SEEK_SET) >= 0;
    if (!placed || write_all(copy.number(), bytes) != bytes.size()) {
      return report_error("wandb.output", explain_error("write", to.path(kName), errno));
    }
    copied_ += bytes.size();
    if (bytes.size() < piece) { return; }
  }
}

namespace {

constexpr const char* kSchema = "takt-wandb/1";

/// Reads a cursor's members. The file may have been edited: if one member is missing or has the wrong type, the cursor
/// is invalid.
class CursorMembers {
 public:
  explicit CursorMembers(Json object) : object_(std::move(object)), whole_(object_.is_object()) {}

  bool whole() const noexcept { return whole_; }
  void get(const char* name, std::string& to) { to = wanted(name, &Json::is_text).text(); }
  void get(const char* name, bool& to) { to = wanted(name, &Json::is_boolean).boolean(); }
  void get(const char* name, std::uint64_t& to) { to = wanted(name, &Json::is_count).count(); }
  void get(const char* name, std::int64_t& to) { to = wanted(name, &Json::is_integer).integer(); }
  /// Reads a member that older versions lack; 0 if it is missing.
  template <class Value>
  void get_known(const char* name, Value& to) {
    to = Value();
    if (object_.has(name)) { get(name, to); }
  }
  /// Reads counts by source; sources that older versions lack are 0.
  void get(const char* name, std::array<std::uint64_t, 4>& to) {
    const Json list = wanted(name, &Json::is_array);
    for (std::size_t at = 0; at < std::min(list.size(), to.size()); ++at) {
      whole_ = whole_ && list.element(at).is_count();
      to[at] = list.element(at).count();
    }
  }
  void get(const char* name, WandbBehind& to) {
    CursorMembers behind(object_.member(name));
    behind.get("resumed", to.resumed);
    behind.get("lines", to.lines);
    behind.get_known("events", to.events);
    behind.get("step", to.step);
    behind.get("runtime_s", to.runtime_s);
    behind.get_known("newer", to.newer);
    whole_ = whole_ && behind.whole();
  }

 private:
  Json wanted(const char* name, bool (Json::*is_kind)() const) {
    Json value = object_.member(name);
    whole_ = whole_ && (value.*is_kind)();
    return value;
  }

  Json object_;
  bool whole_;
};

}  // namespace

void forget_end(WandbCursor& cursor) {
  std::uint64_t& rows = cursor.points[static_cast<std::size_t>(MetricPoint::Source::row)];
  rows = std::min(rows, cursor.killed_rows);
  cursor.points[static_cast<std::size_t>(MetricPoint::Source::total)] = 0;
  cursor.job_ranks = 0;
  cursor.killed_bytes = cursor.killed_rows = 0;
}

std::string format_wandb_cursor(const WandbCursor& cursor) {
  const JsonText document = {
      {"schema", kSchema},
      {"log", cursor.log},
      {"id", cursor.id},
      {"bytes", cursor.bytes},
      {"records", cursor.records},
      {"rows", cursor.rows},
      {"events", cursor.events},
      {"start_unix_ns", cursor.start_unix_ns},
      {"every_step", cursor.every_step},
      {"first_row", cursor.first_row},
      {"first_metric", cursor.first_metric},
      {"first_sample", cursor.first_sample},
      {"points", cursor.points},
      {"job_ranks", cursor.job_ranks},
      {"gap", cursor.gap},
      {"ended", cursor.ended},
      {"server", cursor.server},
      {"run", cursor.run},
      {"lines", cursor.lines},
      {"sent_events", cursor.sent_events},
      {"behind",
       {{"resumed", cursor.behind.resumed},
        {"lines", cursor.behind.lines},
        {"events", cursor.behind.events},
        {"step", cursor.behind.step},
        {"runtime_s", cursor.behind.runtime_s},
        {"newer", cursor.behind.newer}}},
      {"complete", cursor.complete},
      {"killed_bytes", cursor.killed_bytes},
      {"killed_rows", cursor.killed_rows},
      {"resume", static_cast<int>(cursor.resume)},
  };
  return document.indented() + "\n";
}

bool parse_wandb_cursor(const std::string& text, WandbCursor& cursor) {
  CursorMembers document(Json::parse(text));
  std::string schema;
  document.get("schema", schema);
  document.get("log", cursor.log);
  document.get("bytes", cursor.bytes);
  document.get("records", cursor.records);
  document.get("rows", cursor.rows);
  document.get("start_unix_ns", cursor.start_unix_ns);
  document.get("every_step", cursor.every_step);
  document.get("first_row", cursor.first_row);
  document.get("first_metric", cursor.first_metric);
  document.get("points", cursor.points);
  document.get_known("id", cursor.id);
  document.get_known("events", cursor.events);
  document.get_known("sent_events", cursor.sent_events);
  document.get_known("first_sample", cursor.first_sample);
  document.get_known("job_ranks", cursor.job_ranks);
  document.get("gap", cursor.gap);
  document.get("ended", cursor.ended);
  document.get("server", cursor.server);
  document.get("run", cursor.run);
  document.get("lines", cursor.lines);
  document.get_known("behind", cursor.behind);  // older versions overwrote existing lines
  document.get("complete", cursor.complete);
  document.get_known("killed_bytes", cursor.killed_bytes);
  document.get_known("killed_rows", cursor.killed_rows);
  std::int64_t resume = 0;
  document.get_known("resume", resume);
  if (!document.whole() || schema != kSchema) { return false; }
  if (resume < 0 || resume > static_cast<std::int64_t>(WandbResume::never)) { return false; }
  cursor.resume = static_cast<WandbResume>(resume);
  return true;
}

}  // namespace detail
TAKT_END_NAMESPACE
