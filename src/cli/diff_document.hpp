// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include "compare/comparison.hpp"
#include "report/page.hpp"

#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

// One record, three forms. `reason`: why sides with obstacles are compared all the same.

std::string diff_text(const detail::Comparison& comparison, const std::string& reason, detail::Page page);
std::string diff_markdown(const detail::Comparison& comparison, const std::string& reason);
/// By schema "takt-diff/1", docs/compare.md.
std::string diff_json(const detail::Comparison& comparison, const std::string& reason);

/// "no regression", "regression" or "inconclusive".
const char* answer_word(detail::Answer answer) noexcept;

/// "slower", "faster", or nothing.
const char* mark_word(detail::ChangeMark mark) noexcept;
/// "runs", "within_runs" or "none".
const char* basis_word(detail::Basis basis) noexcept;

/// What all forms say in front of the figures, and behind them, a sentence each.
std::vector<std::string> diff_head(const detail::Comparison& comparison, const std::string& reason);
std::vector<std::string> diff_end(const detail::Comparison& comparison);

/// What the gates say, a sentence each; the last part of diff_end().
std::vector<std::string> gate_lines(const detail::Comparison& comparison);
/// That intervals are those within runs, where they are; the first part of diff_end().
std::vector<std::string> basis_lines(const detail::Comparison& comparison);

/// The table of text and Markdown, its head first.
std::vector<std::vector<std::string>> diff_table(const detail::Comparison& comparison);

}  // namespace cli
TAKT_END_NAMESPACE
