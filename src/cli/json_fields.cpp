// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/json_fields.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

using FieldsJson = nlohmann::json;

constexpr std::size_t kLongestText = 1000;
constexpr std::uint64_t kLatest = std::numeric_limits<std::int64_t>::max();
constexpr int kElementDepth = 3;  // of the members of an element of a list in the document

const FieldsJson& json_of(const std::shared_ptr<const void>& value) {
  return *static_cast<const FieldsJson*>(value.get());
}

const FieldsJson& member_of(const FieldsJson& object, const char* name) {
  static const FieldsJson kNone;
  const auto found = object.is_object() ? object.find(name) : object.end();
  return object.is_object() && found != object.end() ? *found : kNone;
}

}  // namespace

JsonFields JsonFields::parse(std::string_view text, std::string_view dropped) {
  const auto keep = [dropped](int depth, FieldsJson::parse_event_t event, const FieldsJson& parsed) {
    return event != FieldsJson::parse_event_t::key || depth != kElementDepth || parsed != dropped;
  };
  return JsonFields(std::make_shared<const FieldsJson>(FieldsJson::parse(text, keep, false)));
}

JsonFields JsonFields::member(const char* name) const {
  return JsonFields(std::shared_ptr<const void>(value_, &member_of(json_of(value_), name)));
}
bool JsonFields::is_list() const { return json_of(value_).is_array(); }
std::size_t JsonFields::size() const { return is_list() ? json_of(value_).size() : 0; }
JsonFields JsonFields::element(std::size_t at) const {
  return JsonFields(std::shared_ptr<const void>(value_, &json_of(value_)[at]));
}

std::uint64_t JsonFields::count(const char* name) const {
  const FieldsJson& value = member_of(json_of(value_), name);
  return value.is_number_unsigned() ? value.get<std::uint64_t>() : 0;
}
std::int64_t JsonFields::time(const char* name) const {
  const FieldsJson& value = member_of(json_of(value_), name);
  return value.is_number_integer() && !value.is_number_unsigned()
             ? value.get<std::int64_t>()
             : static_cast<std::int64_t>(std::min(count(name), kLatest));
}
double JsonFields::amount(const char* name) const { return std::max(known_amount(name), 0.0); }
std::int64_t JsonFields::known_count(const char* name) const {
  return member_of(json_of(value_), name).is_number_unsigned() ? time(name) : kUnknown;
}
double JsonFields::known_amount(const char* name) const {
  const FieldsJson& value = member_of(json_of(value_), name);
  const double amount = value.is_number() ? value.get<double>() : kUnknown;
  return std::isfinite(amount) && amount >= 0 ? amount : kUnknown;
}
bool JsonFields::flag(const char* name) const {
  const FieldsJson& value = member_of(json_of(value_), name);
  return value.is_boolean() && value.get<bool>();
}
std::string JsonFields::text(const char* name) const {
  const FieldsJson& value = member_of(json_of(value_), name);
  return value.is_string() ? value.get<std::string>().substr(0, kLongestText) : "";
}

}  // namespace cli
TAKT_END_NAMESPACE
