// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include "base/json.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// A value in a JSON file of a run folder, whose bytes may be anything: what is of another kind is as if it were not
/// there. A value, which shares the document. Any thread.
class JsonFields {
 public:
  static constexpr std::int64_t kUnknown = -1;

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
  std::uint64_t count(const char* name) const;       ///< a whole number of 0 or more; else 0
  std::int64_t time(const char* name) const;         ///< a whole number; else 0
  double amount(const char* name) const;             ///< a finite number above 0; else 0
  std::int64_t known_count(const char* name) const;  ///< a whole number of 0 or more; else kUnknown
  double known_amount(const char* name) const;       ///< a finite number of 0 or more; else kUnknown
  bool flag(const char* name) const;
  std::string text(const char* name) const;  ///< of which the first 1 000 bytes count; else empty

 private:
  explicit JsonFields(detail::Json json) noexcept : json_(std::move(json)) {}

  detail::Json json_;
};

}  // namespace cli
TAKT_END_NAMESPACE
