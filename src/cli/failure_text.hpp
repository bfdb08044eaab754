// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <exception>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// What the user is told of an error. One of the standard library's names no cure: where memory lacks, this does.
/// \return as long as `error` lives. Needs no memory.
const char* failure_text(const std::exception& error) noexcept;

}  // namespace cli
TAKT_END_NAMESPACE
