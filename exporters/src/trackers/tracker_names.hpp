// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>
#include <takt/snapshot.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Returns `name` in a form that every tracker accepts; MLflow is the strictest. Allows ASCII letters, digits, '_',
/// '-', '.', ' ' and '/', no empty, "." or ".." segments, and at most `longest` bytes (16 or more). One bad name makes
/// a server reject the whole batch. Valid names are kept; others end in a hash of the original. A nonzero `salt` always
/// adds a hash. Any thread.
std::string tracker_name(std::string_view name, std::size_t longest, std::uint32_t salt = 0);

/// Replaces invalid UTF-8 in `text` with U+FFFD. Any thread.
std::string valid_utf8(std::string_view text);

/// Returns `name` for a tracker that accepts all valid UTF-8; invalid bytes become U+FFFD. Empty and invalid names, and
/// all names if `salt` is not 0, end in a hash of the original. Any thread.
std::string utf8_name(std::string_view name, std::uint32_t salt = 0);

/// Maps each name to a unique safe name, the same each time. One thread at a time.
class TrackerNames {
 public:
  static constexpr std::size_t kLongest = 250;

  /// Switches to a tracker that accepts all of UTF-8, at any length. Call before of().
  void take_utf8() noexcept { takes_utf8_ = true; }

  const std::string& of(const std::string& name);
  /// Returns a safe prefix of a name that leaves `space` bytes for the rest; not stored.
  std::string stem(const std::string& name, std::size_t space) const;
  /// Returns the number of changed names.
  std::uint64_t changed() const noexcept { return changed_; }

 private:
  std::map<std::string, std::string> safe_;
  std::set<std::string> used_;
  std::uint64_t changed_ = 0;
  bool takes_utf8_ = false;
};

// Environment variables of trackers' own clients. All functions: any thread, if no other one changes the environment,
// as with getenv().

/// Returns the value of a variable, or an empty string.
std::string variable(const char* name);
/// Returns `text` without leading and trailing blanks.
std::string trimmed(const std::string& text);
/// Parses true, 1, false or 0, in any case. An invalid value is reported and treated as false; unset is false.
bool flag(const char* name);

/// Returns the name of the process's user, found like Python's getpass.getuser(), which MLflow's and W&B's own clients
/// use: the first of LOGNAME, USER, LNAME and USERNAME that is set, else the password database. Empty if the database
/// has no such user, as in many containers. A network database may be slow. Any thread.
std::string user_name();

/// Returns the findings of a run as text for a tracker: at most eight sentences, one per line, and the number of
/// further ones. Empty: no findings. Any thread.
std::string findings_text(const Snapshot& snapshot);
/// \param rest location of the full list.
std::string findings_text(const std::vector<Finding>& findings, std::string_view rest);

}  // namespace detail
TAKT_END_NAMESPACE
