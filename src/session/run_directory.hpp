// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/session.hpp>

#include <cstddef>
#include <string>
#include <string_view>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// The longest name of a run's folder, in bytes.
constexpr std::size_t kLongestRunId = 120;

/// `text` as one component of a path that nobody trips over: ASCII letters, digits, '_', '-' and '.', not two dots in
/// a row, not beginning with '-' or '.', never empty, at most `longest` bytes (32 or more). Of a text that had to be
/// cut the end is a hash of all of it. What is safe already stays as it is.
std::string path_component(std::string_view text, std::size_t longest);

/// Makes <options.directory>/<run.id>/rank-<rank>-<attempt>-<pid>/ (0700, never an existing one: a suffix is added) and
/// returns its absolute path; empty, with `error` saying what failed and what to do, where that cannot be done.
std::string make_run_folder(const SessionOptions& options, const RunInfo& run, std::string& error);

}  // namespace detail
TAKT_END_NAMESPACE
