// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "page/page_document.hpp"

#include "base/format.hpp"
#include "page/html_text.hpp"

TAKT_BEGIN_NAMESPACE
namespace detail {

std::string page_document(const PageParts& parts) {
  return filled(kPageDocument.text, {{"title", html_text(parts.title)},
                                     {"style", std::string(kPageStyle.text)},
                                     {"style_hash", std::string(kPageStyle.hash)},
                                     {"common", std::string(kPageCommonScript.text)},
                                     {"common_hash", std::string(kPageCommonScript.hash)},
                                     {"script", std::string(parts.script->text)},
                                     {"script_hash", std::string(parts.script->hash)},
                                     {"body", parts.body},
                                     {"data", json_in_html(parts.data)}});
}

std::string page_version() {
  return detail::format("{}.{}.{}", TAKT_VERSION_MAJOR, TAKT_VERSION_MINOR, TAKT_VERSION_PATCH);
}

}  // namespace detail
TAKT_END_NAMESPACE
