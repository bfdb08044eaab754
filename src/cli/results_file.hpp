// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/json.hpp"
#include "cli/run_directory.hpp"

#include <takt/config.hpp>
#include <takt/measurement.hpp>
#include <takt/trial_results.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

using Measurements = std::vector<std::shared_ptr<const Measurement>>;

/// Parses results.json, schema takt-results/1, without the single runs; at most 1,000 measurements. The text is
/// untrusted: missing and invalid values are skipped. Returns an empty list for another document and sets `error`.
Measurements parse_results(std::string_view text, std::string& error);

/// Reads results.json of a rank. Empty if the file does not exist, or is unreadable, which sets `error`.
Measurements read_results(const RankDirectory& directory, std::string& error);

/// Returns the directory whose file of this name counts: that of the newest attempt's lowest rank, and of several
/// processes of one rank the highest number. If other directories have such a file, stderr names the one that is used.
/// \throws takt::Error if none has it.
RankDirectory rank_with(const char* file, const std::vector<RankDirectory>& directories);

/// Parses trials.json, schema takt-trials/1. The text is untrusted: missing and invalid values are skipped. Returns
/// nullptr for another document and sets `error`.
std::shared_ptr<const TrialResults> parse_trials(std::string_view text, std::string& error);

/// Reads trials.json of a rank. nullptr if the file does not exist, or is unreadable, which sets `error`.
std::shared_ptr<const TrialResults> read_trials(const RankDirectory& directory, std::string& error);

/// A value in a JSON file of a run directory. The file is untrusted: values of an unexpected type count as missing. A
/// value that shares the document. Any thread.
class JsonFields {
 public:
  /// Parses a document; invalid JSON gives an empty value.
  /// \param dropped a key of list elements in the document whose values are not kept.
  static JsonFields parse(std::string_view text, std::string_view dropped = {});

  /// Returns a member; empty if it does not exist.
  JsonFields member(const char* name) const;
  bool is_list() const;
  /// Number of elements of a list; else 0.
  std::size_t size() const;
  /// REQUIRES: at < size().
  JsonFields element(std::size_t at) const;

  // Accessors of a member by name.
  std::uint64_t count(const char* name) const;                      ///< a whole number >= 0; else 0
  std::int64_t time(const char* name) const;                        ///< a whole number; else 0
  double amount(const char* name) const;                            ///< a finite number > 0; else 0
  std::optional<std::int64_t> known_count(const char* name) const;  ///< a whole number >= 0; else empty
  std::optional<double> known_amount(const char* name) const;       ///< a finite number >= 0; else empty
  std::optional<double> known_number(const char* name) const;       ///< a finite number; else empty
  bool flag(const char* name) const;
  std::string text(const char* name) const;  ///< its first 1,000 bytes; else empty

 private:
  explicit JsonFields(detail::Json json) noexcept : json_(std::move(json)) {}

  detail::Json json_;
};

}  // namespace cli
TAKT_END_NAMESPACE
