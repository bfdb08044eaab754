// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include "page/page_files.hpp"

#include <string>
#include <string_view>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What a page consists of, beside the style that all have.
struct PageParts {
  std::string title;                 ///< any text
  std::string body;                  ///< HTML
  std::string data;                  ///< JSON, for the script
  const PageFile* script = nullptr;  ///< beside what all have in common
};

/// A page as one file, whose policy lets in nothing but its own style and script. Any thread.
std::string page_document(const PageParts& parts);

/// "0.1.0"
std::string page_version();

}  // namespace detail
TAKT_END_NAMESPACE
