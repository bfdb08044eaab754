// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "page/page_data.hpp"

#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// The steps as a picture in SVG, for a page whose script does not run: from the least to the most of each stretch of
/// the run, so that no spike is missing. Any thread.
std::string step_picture(const PageSeries& series);

}  // namespace detail
TAKT_END_NAMESPACE
