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

/// `name` as every tracker takes it, MLflow being the strictest: ASCII letters, digits, '_', '-', '.', ' ' and '/', no
/// empty, "." or ".." between slashes, at most `longest` bytes (16 or more). One bad name costs a server's whole batch.
/// What is good already stays as it is; of all else the end is a hash of the original. `salt` other than 0 always adds
/// a hash. Any thread.
std::string tracker_name(std::string_view name, std::size_t longest, std::uint32_t salt = 0);

/// `text` with U+FFFD for what is not UTF-8. Any thread.
std::string valid_utf8(std::string_view text);

/// `name` as a tracker takes it that takes all but what is not UTF-8, which becomes U+FFFD. An empty name, one that is
/// not UTF-8, and with `salt` other than 0 each one, has a hash of the original at its end. Any thread.
std::string utf8_name(std::string_view name, std::uint32_t salt = 0);

/// Gives each name a safe one of its own, the same each time. One thread at a time.
class TrackerNames {
 public:
  static constexpr std::size_t kLongest = 250;

  /// From now on for a tracker that takes all of UTF-8, at any length. Before of().
  void take_utf8() noexcept { takes_utf8_ = true; }

  const std::string& of(const std::string& name);
  /// Of what is put before further parts of a name, `room` bytes for which are left; not kept.
  std::string stem(const std::string& name, std::size_t space) const;
  /// Names that had to be changed.
  std::uint64_t changed() const noexcept { return changed_; }

 private:
  std::map<std::string, std::string> safe_;
  std::set<std::string> used_;
  std::uint64_t changed_ = 0;
  bool takes_utf8_ = false;
};

// Variables of trackers' own clients. All: any thread while no other one changes the environment, as with getenv().

/// The value of a variable, empty where it is unset.
std::string variable(const char* name);
/// `text` without blanks around it.
std::string trimmed(const std::string& text);
/// true and 1, false and 0, in any case; what is not understood is reported, and false, as is an unset one.
bool flag(const char* name);

/// The name of whom the process belongs to, found as Python's getpass.getuser() does, on which MLflow's and W&B's own
/// clients go: the first of LOGNAME, USER, LNAME and USERNAME that is set, else what the password database says; empty
/// where that knows no such user, as in many containers. A database on the network may take its time. Any thread.
std::string user_name();

/// What stands out in a run, as a tracker is told of it: the sentences of its findings, one a line, eight at most, and
/// how many more there are. Empty: nothing stands out. Any thread.
std::string findings_text(const Snapshot& snapshot);
/// \param rest where all of them are.
std::string findings_text(const std::vector<Finding>& findings, std::string_view rest);

}  // namespace detail
TAKT_END_NAMESPACE
