// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

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
  std::string stem(const std::string& name, std::size_t room) const;
  /// Names that had to be changed.
  std::uint64_t changed() const noexcept { return changed_; }

 private:
  std::map<std::string, std::string> safe_;
  std::set<std::string> used_;
  std::uint64_t changed_ = 0;
  bool takes_utf8_ = false;
};

}  // namespace detail
TAKT_END_NAMESPACE
