// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "wandb/wandb_key.hpp"

#include "base/fault.hpp"
#include "base/file.hpp"
#include "trackers/variables.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <system_error>

#include <sys/stat.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr std::size_t kShortest = 40;
constexpr std::size_t kMostBytes = std::size_t{1} << 20U;

bool is_letter(char each) { return std::isalnum(static_cast<unsigned char>(each)) != 0 || each == '_' || each == '-'; }

/// Three parts with dots in between, as tokens of W&B's own services.
bool is_web_token(const std::string& key) {
  const std::size_t first = key.find('.');
  const std::size_t second = key.find('.', first + 1);
  return first != std::string::npos && second != std::string::npos && first > 0 && second > first + 1 &&
         second + 1 < key.size() && std::count(key.begin(), key.end(), '.') == 2 &&
         std::all_of(key.begin(), key.end(), [](char each) { return each == '.' || is_letter(each); });
}

/// Words of a netrc: between blanks, or in quotes with backslashes.
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
  /// A macro ends at an empty line.
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

/// "host" or "host:port", as it stands in the URL.
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
  // A server of one's own puts something and a "-" in front.
  const std::size_t dash = key.find('-');
  const std::string secret = dash == std::string::npos ? key : key.substr(dash + 1);
  if (secret.empty() || !std::all_of(secret.begin(), secret.end(), is_letter)) {
    return "has something else than letters, digits, - and _ in it";
  }
  if (secret.size() < kShortest) {
    return "has " + std::to_string(secret.size()) + " characters, where a key has " + std::to_string(kShortest) +
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
  // Links are followed: home folders have their settings elsewhere.
  char real[PATH_MAX] = {};
  if (::realpath(path.c_str(), real) == nullptr || !read_from(real, 0, kMostBytes, text)) {
    report_fault_once("wandb.netrc", path + " cannot be read: " + std::system_category().message(errno) +
                                         "; make it a file that you may read (chmod 600), or set WANDB_API_KEY");
    return "";
  }
  std::string key = netrc_password(text, machine_of(base_url.empty() ? kWandbUrl : base_url));
  if (!key.empty() && (status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    report_fault_once("wandb.netrc.mode", "others can read " + path + ", which has the key for W&B; chmod 600 " + path);
  }
  return key;
}

}  // namespace detail
TAKT_END_NAMESPACE
