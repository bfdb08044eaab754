// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <string_view>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Keeps `line` as the calling thread's last error of the C API, reports it, and returns `code`. Any thread.
/// \param cause see report_error().
int c_error(int code, std::string_view cause, std::string_view line) noexcept;
/// The same for TAKT_MISUSE.
int c_misuse(std::string_view cause, std::string_view line) noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
