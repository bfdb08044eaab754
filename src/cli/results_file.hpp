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

/// What results.json says, by schema takt-results/1, without the single runs: 1 000 measurements at most. What it does
/// not say, or says wrongly, is as if it were not there: bytes may be anything. Empty where it is no such document,
/// with the reason in `error`.
Measurements parse_results(std::string_view text, std::string& error);

/// That in the directory of a rank. Empty: there is none, or, with the reason in `error`, it cannot be read.
Measurements read_results(const RankDirectory& directory, std::string& error);

/// What trials.json says, by schema takt-trials/1. What it does not say, or says wrongly, is as if it were not there:
/// bytes may be anything. nullptr where it is no such document, with the reason in `error`.
std::shared_ptr<const TrialResults> parse_trials(std::string_view text, std::string& error);

/// That in the directory of a rank. nullptr: there is none, or, with the reason in `error`, it cannot be read.
std::shared_ptr<const TrialResults> read_trials(const RankDirectory& directory, std::string& error);

/// A value in a JSON file of a run directory, whose bytes may be anything: what is of another kind is as if it were not
/// there. A value, which shares the document. Any thread.
class JsonFields {
 public:
  /// \param dropped a key of the elements of a list in the document, whose values are not kept.
  /// Of what is no JSON there is nothing.
  static JsonFields parse(std::string_view text, std::string_view dropped = {});

  /// A member; of what has none, nothing.
  JsonFields member(const char* name) const;
  bool is_list() const;
  /// Of a list; else 0.
  std::size_t size() const;
  /// REQUIRES: at < size().
  JsonFields element(std::size_t at) const;

  // Each of a member.
  std::uint64_t count(const char* name) const;                      ///< a whole number of 0 or more; else 0
  std::int64_t time(const char* name) const;                        ///< a whole number; else 0
  double amount(const char* name) const;                            ///< a finite number above 0; else 0
  std::optional<std::int64_t> known_count(const char* name) const;  ///< a whole number of 0 or more; else nothing
  std::optional<double> known_amount(const char* name) const;       ///< a finite number of 0 or more; else nothing
  bool flag(const char* name) const;
  std::string text(const char* name) const;  ///< of which the first 1 000 bytes count; else empty

 private:
  explicit JsonFields(detail::Json json) noexcept : json_(std::move(json)) {}

  detail::Json json_;
};

}  // namespace cli
TAKT_END_NAMESPACE
