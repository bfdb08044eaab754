// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include "cli/comparison.hpp"
#include "report/text_table.hpp"

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
/// "pairs", "runs" or "none".
const char* basis_word(detail::Basis basis) noexcept;

/// The result in one sentence: the first line of text and Markdown, and of the page.
std::string answer_line(const detail::Comparison& comparison);
/// The sentences before the table of text and Markdown, the result first, and those after it.
std::vector<std::string> diff_head(const detail::Comparison& comparison, const std::string& reason);
std::vector<std::string> diff_end(const detail::Comparison& comparison);

/// A sentence for each gate; diff_end() begins with them.
std::vector<std::string> gate_lines(const detail::Comparison& comparison);
/// Which statistic is judged, and what the intervals rest on; part of diff_end().
std::vector<std::string> basis_lines(const detail::Comparison& comparison);

/// The table, its head first. \param whole with all figures of all regions; else of regions the one that decides.
std::vector<std::vector<std::string>> diff_table(const detail::Comparison& comparison, bool whole);

}  // namespace cli
TAKT_END_NAMESPACE
