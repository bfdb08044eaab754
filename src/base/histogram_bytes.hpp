// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/histogram.hpp>

#include <string>
#include <string_view>

// The counts of a histogram as bytes: for each bucket with something in it the step from the one before (the first:
// from 0) and its count, each as Encoder spells a number. So a packed Histogram has them in memory, too. One thread
// at a time.

TAKT_BEGIN_NAMESPACE
namespace detail {

std::string counts_of(const Histogram& histogram);
/// Those of a histogram with one value.
std::string counts_of_one(std::uint64_t ns);
/// Both together, behind what stands in `out`. False where either cannot be.
bool add_counts(std::string_view a, std::string_view b, std::string& out);
/// REQUIRES: an empty histogram. False where the bytes cannot be.
bool set_counts(std::string_view bytes, Histogram& histogram);

}  // namespace detail
TAKT_END_NAMESPACE
