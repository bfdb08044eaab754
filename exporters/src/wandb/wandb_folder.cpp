// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "wandb/wandb_folder.hpp"

#include "base/file.hpp"
#include "trackers/time_line_file.hpp"

#include <cerrno>
#include <ctime>
#include <filesystem>
#include <random>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr std::size_t kIdLength = 8;
constexpr std::size_t kPiece = std::size_t{1} << 20U;

/// "20261122_173059", in local time, as W&B's own client has it.
std::string stamp(std::int64_t unix_ns) {
  const auto seconds = static_cast<std::time_t>(unix_ns / 1'000'000'000);
  std::tm parts = {};
  ::localtime_r(&seconds, &parts);
  char text[16] = {};
  std::strftime(text, sizeof text, "%Y%m%d_%H%M%S", &parts);
  return text;
}

/// With its parents. Links are followed: a home or scratch folder is often one.
bool make_parents(const std::string& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) == 0) {
    errno = ENOTDIR;
    return S_ISDIR(status.st_mode);
  }
  const std::size_t slash = path.find_last_of('/');
  if (slash != std::string::npos && slash != 0 && !make_parents(path.substr(0, slash))) { return false; }
  return make_own_folder(path) || errno == EEXIST;  // another rank was faster
}

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

bool make_own_folder(const std::string& path) {
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

std::string make_wandb_folder(const std::string& root, std::int64_t start_unix_ns, const std::string& run_id,
                              std::string& error) {
  std::string folder = root + "/offline-run-" + stamp(start_unix_ns) + "-" + run_id;
  if (make_parents(root) && make_own_folder(folder) && make_own_folder(folder + "/files")) { return folder; }
  if (errno == EEXIST) {
    error = folder +
            " is there already: another run with this id began in the same second. Give each run a WANDB_RUN_ID of "
            "its own, or none";
  } else {
    error = wandb_fault("make the folder", folder, errno);
  }
  return "";
}

std::string wandb_fault(const char* what, const std::string& path, int number) {
  return std::string("cannot ") + what + " " + path + ": " + reason_of(number) +
         "; make room, or set WANDB_DIR to a folder that can be written";
}

bool write_new_file(const FolderFiles& folder, const std::string& name, const std::string& text) {
  const Descriptor file = folder.create(name, O_WRONLY);
  return file.is_open() && write_all(file.number(), text) == text.size();
}

bool attach_time_line(const FolderFiles& from, const FolderFiles& to, std::chrono::steady_clock::time_point until) {
  constexpr const char* kName = "trace.json";
  const Descriptor source = open_time_line(from);
  struct stat status = {};
  if (!source.look(status)) { return false; }
  // Of somebody else's file, what is in it now is enough.
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
  to.remove(kName);  // a part of it is no use, and what follows needs the room
  errno = why;
  return false;
}

Descriptor open_below(const FolderFiles& folder, const std::string& path) {
  const std::size_t slash = path.find('/');
  if (slash == std::string::npos) { return folder.open(path, O_RDONLY); }
  return open_below(folder.folder(path.substr(0, slash)), path.substr(slash + 1));
}

bool parse_place_of_log(const std::string& path, WandbPlaceOfLog& place) {
  constexpr std::string_view kFolder = "offline-run-";
  constexpr std::string_view kTime = "20261122_173059";
  place.file = name_part(path);
  place.folder = name_part(folder_part(path));
  place.root = folder_part(folder_part(path));
  const std::string root = name_part(place.root);
  const std::size_t id_at = kFolder.size() + kTime.size() + 1;
  if (path.empty() || path.front() != '/' || (root != "wandb" && root != ".wandb")) { return false; }
  if (place.folder.size() <= id_at || place.folder.compare(0, kFolder.size(), kFolder) != 0) { return false; }
  const std::string time = place.folder.substr(kFolder.size(), kTime.size());
  place.id = place.folder.substr(id_at);
  return is_digits(time.substr(0, 8)) && time[8] == '_' && is_digits(time.substr(9)) &&
         place.folder[id_at - 1] == '-' && is_entry_name(place.id) && place.file == "run-" + place.id + ".wandb";
}

std::string shell_word(const std::string& text) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./";
  if (text.find_first_not_of(kPlain) == std::string::npos) { return text; }
  std::string word = "'";
  for (const char each : text) { word += each == '\'' ? std::string("'\\''") : std::string(1, each); }
  return word + "'";
}

}  // namespace detail
TAKT_END_NAMESPACE
