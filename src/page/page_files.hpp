// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <string_view>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A file of this folder as text, and what a Content-Security-Policy calls it. cmake/TaktPageFiles.cmake makes them.
struct PageFile {
  std::string_view text;
  std::string_view hash;  ///< "sha256-..."
};

extern const PageFile kPageDocument;  ///< around each page
extern const PageFile kPageStyle;
extern const PageFile kPageCommonScript;
extern const PageFile kPageRunBody;
extern const PageFile kPageRunScript;
extern const PageFile kPageDiffBody;  ///< in the command alone, as is what follows
extern const PageFile kPageDiffScript;

}  // namespace detail
TAKT_END_NAMESPACE
