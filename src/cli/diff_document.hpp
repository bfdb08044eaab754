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

// Three forms of one record. `reason`: why sides with obstacles are compared anyway.

std::string diff_text(const detail::Comparison& comparison, const std::string& reason, detail::Page page);
std::string diff_markdown(const detail::Comparison& comparison, const std::string& reason);
/// Returns JSON with the schema "takt-diff/1", docs/compare.md.
std::string diff_json(const detail::Comparison& comparison, const std::string& reason);

/// Returns "no regression", "regression" or "inconclusive".
const char* answer_word(detail::Answer answer) noexcept;

/// Returns "slower", "faster", or an empty text.
const char* mark_word(detail::ChangeMark mark) noexcept;
/// Returns "pairs", "runs" or "none".
const char* basis_word(detail::Basis basis) noexcept;

/// Returns the result in one sentence: the first line of text, Markdown and page.
std::string answer_line(const detail::Comparison& comparison);
/// Returns the sentences before the table of text and Markdown, the result first; diff_end() those after it.
std::vector<std::string> diff_head(const detail::Comparison& comparison, const std::string& reason);
std::vector<std::string> diff_end(const detail::Comparison& comparison);

/// Returns a sentence for each gate; diff_end() starts with them.
std::vector<std::string> gate_lines(const detail::Comparison& comparison);
/// Returns the statistic that is judged and the basis of the intervals; part of diff_end().
std::vector<std::string> basis_lines(const detail::Comparison& comparison);

/// Returns the table, header first. \param whole include all figures of all regions; else only the deciding one.
std::vector<std::vector<std::string>> diff_table(const detail::Comparison& comparison, bool whole);

}  // namespace cli
TAKT_END_NAMESPACE
