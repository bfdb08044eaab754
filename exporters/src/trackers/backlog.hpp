// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "trackers/growing_file.hpp"
#include "trackers/tracker.hpp"

#include <cstddef>
#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What a disk has not taken yet of a tracker's file: it is kept, and written when that can be done; beyond a bound the
/// file is given up. A line says so. One thread at a time.
class Backlog {
 public:
  /// "cannot <what> <path>: <reason of `number`>; <what to do>".
  using Fault = std::string (*)(const char* what, const std::string& path, int number);

  /// \param file not owned.
  /// \param most bytes that are kept.
  /// \param cure a sentence for the line about a file that is given up; may be empty.
  Backlog(GrowingFile& file, const Tracker& tracker, Fault fault, std::size_t most, const char* cure = "")
      : file_(file), tracker_(tracker), fault_(fault), most_(most), cure_(cure) {}

  /// Returns whether all is written. \param place that lines name.
  bool write(const std::string& place);
  /// Nothing more is written. \param why what a line says.
  void give_up(const std::string& place, const std::string& why);
  bool is_given_up() const noexcept { return given_up_; }

 private:
  GrowingFile& file_;
  const Tracker tracker_;
  const Fault fault_;
  const std::size_t most_;
  const char* const cure_;
  bool given_up_ = false;
};

}  // namespace detail
TAKT_END_NAMESPACE
