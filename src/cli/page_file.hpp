// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <string>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// Writes a page, which appears under its name when it is whole.
/// \throws takt::Error where it cannot be written.
void write_page_file(const std::string& file, const std::string& page);

}  // namespace cli
TAKT_END_NAMESPACE
