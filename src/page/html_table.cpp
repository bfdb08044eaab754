// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "page/html_table.hpp"

#include "base/format.hpp"
#include "page/html_text.hpp"

#include <algorithm>

TAKT_BEGIN_NAMESPACE
namespace detail {

void HtmlTable::add(const std::vector<std::string>& cells, std::size_t depth, const std::string& attributes) {
  constexpr std::size_t kDeepest = 12;
  rows_ += detail::format("<tr{}{}>", attributes.empty() ? "" : " ", attributes);
  for (std::size_t at = 0; at < std::min(cells.size(), columns_.size()); ++at) {
    if (at == 0) {
      rows_ +=
          detail::format("<th scope=\"row\" class=\"d{}\">{}</th>", std::min(depth, kDeepest), html_text(cells[at]));
    } else {
      rows_ += detail::format("<td{}>{}</td>", columns_[at].is_number ? " class=\"n\"" : "", html_text(cells[at]));
    }
  }
  rows_ += "</tr>\n";
}

std::string HtmlTable::html() const {
  std::string out = detail::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table id=\"{1}\">"
      "<caption>{0}</caption>\n<thead><tr>",
      html_text(caption_), html_text(id_));
  for (const HtmlColumn& each : columns_) {
    out += detail::format("<th scope=\"col\"{}>{}</th>", each.is_number ? " class=\"n\"" : "", html_text(each.head));
  }
  return out + "</tr></thead>\n<tbody>\n" + rows_ + "</tbody></table></div>\n";
}

}  // namespace detail
TAKT_END_NAMESPACE
