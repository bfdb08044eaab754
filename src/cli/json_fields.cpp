// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/json_fields.hpp"

#include <algorithm>
#include <cmath>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

using detail::Json;

constexpr std::size_t kLongestText = 1000;

}  // namespace

JsonFields JsonFields::parse(std::string_view text, std::string_view dropped) {
  return JsonFields(Json::parse(text, dropped));
}

JsonFields JsonFields::member(const char* name) const { return JsonFields(json_.member(name)); }
bool JsonFields::is_list() const { return json_.is_array(); }
std::size_t JsonFields::size() const { return is_list() ? json_.size() : 0; }
JsonFields JsonFields::element(std::size_t at) const { return JsonFields(json_.element(at)); }

std::uint64_t JsonFields::count(const char* name) const { return json_.member(name).count(); }
std::int64_t JsonFields::time(const char* name) const { return json_.member(name).integer(); }
double JsonFields::amount(const char* name) const { return std::max(known_amount(name), 0.0); }
std::int64_t JsonFields::known_count(const char* name) const {
  const Json value = json_.member(name);
  return value.is_count() ? value.integer() : kUnknown;
}
double JsonFields::known_amount(const char* name) const {
  const Json value = json_.member(name);
  const double amount = value.is_number() ? value.number() : kUnknown;
  return std::isfinite(amount) && amount >= 0 ? amount : kUnknown;
}
bool JsonFields::flag(const char* name) const { return json_.member(name).boolean(); }
std::string JsonFields::text(const char* name) const { return json_.member(name).text().substr(0, kLongestText); }

}  // namespace cli
TAKT_END_NAMESPACE
