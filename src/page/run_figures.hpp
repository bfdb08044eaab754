// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "page/page_data.hpp"

#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Returns an SVG of the steps for use without scripts: minimum to maximum of each interval, so that spikes stay
/// visible. Any thread.
std::string step_picture(const PageSeries& series);

}  // namespace detail
TAKT_END_NAMESPACE
