// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/json_text.hpp"
#include "base/text.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A JSON document with one line per member and one per array element: compact, but usable with grep and diff. Elements
/// are serialised one at a time, because all histograms at once would take many times their size in memory. Not
/// thread-safe.
class JsonLines {
 public:
  /// Consumes the text in pieces. Returns false to stop.
  using Sink = std::function<bool(const std::string&)>;

  /// \param take must outlive this object.
  explicit JsonLines(const Sink& take) : take_(take) {}

  void member(const char* name, const JsonText& value) {
    begin(name);
    if (!value.is_array()) {
      out_ += printable_json(value.text());
      return;
    }
    bool any = false;
    for (std::size_t at = 0; at < value.size(); ++at) { element(any, printable_json(value.element(at))); }
    out_ += any ? "\n]" : "[]";
  }
  /// \param make converts one of `values` to JsonText.
  template <class Values, class Make>
  void array(const char* name, const Values& values, Make make) {
    begin(name);
    bool any = false;
    for (const auto& each : values) { element(any, printable_json(make(each).text())); }
    out_ += any ? "\n]" : "[]";
  }
  /// \param elements texts made by printable_json().
  void array_of_printable(const char* name, const std::vector<std::string>& elements) {
    begin(name);
    bool any = false;
    for (const std::string& each : elements) { element(any, each); }
    out_ += any ? "\n]" : "[]";
  }
  /// Returns true if all text was consumed.
  bool finish() {
    out_ += "\n}\n";
    hand_over();
    return taken_;
  }

 private:
  static constexpr std::size_t kPiece = std::size_t{1} << 20U;  // maximum text in memory

  void begin(const char* name) {
    out_ += (std::exchange(started_, true) ? ",\n" : "{\n") + JsonText(name).text() + ": ";
  }
  void element(bool& any, std::string_view printable) {
    out_.append(std::exchange(any, true) ? ",\n " : "[\n ").append(printable);
    if (out_.size() >= kPiece) { hand_over(); }
  }
  void hand_over() {
    taken_ = taken_ && take_(out_);
    out_.clear();
  }

  const Sink& take_;
  std::string out_;
  bool started_ = false;
  bool taken_ = true;
};

}  // namespace detail
TAKT_END_NAMESPACE
