// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/core.h>

std::string fmt::vformat(fmt::string_view, fmt::format_args) { return "by another fmt"; }
