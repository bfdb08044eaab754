// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "page/html.hpp"

#include "support/catch.hpp"

#include <nlohmann/json.hpp>

#include <string>

using takt::detail::filled;
using takt::detail::html_text;
using takt::detail::HtmlTable;
using takt::detail::json_in_html;

TEST_CASE("HTML: escapes markup and control characters in text") {
  CHECK(html_text("plain, Ω 1") == "plain, Ω 1");
  CHECK(html_text("<b a=\"1\" c='2'>&amp;") == "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;amp;");
  CHECK(html_text("a\x1B[31m\n\xE2\x80\xAE.") == "a?[31m??.");
  CHECK(html_text("\xFF") == "\xEF\xBF\xBD");
  CHECK(html_text(std::string("a\0b", 3)) == "a?b");
}

TEST_CASE("HTML: embedded JSON keeps its value and does not end its element") {
  const nlohmann::json value = {{"a</script>", "<!--\xE2\x80\xAE\x1B"}};
  const std::string inside = json_in_html(value.dump());
  CHECK(inside.find('<') == std::string::npos);
  CHECK(inside.find("\xE2\x80\xAE") == std::string::npos);
  CHECK(nlohmann::json::parse(inside) == value);
}

TEST_CASE("HTML: a template inserts each value once without expanding it") {
  CHECK(filled("<p>{{a}}</p>{{b}}", {{"a", "{{b}}"}, {"b", "2"}}) == "<p>{{b}}</p>2");
  CHECK(filled("{{unknown}}x", {}) == "x");
  CHECK(filled("no {{ end", {{"a", "1"}}) == "no {{ end");
  CHECK(filled("}} {{a}}", {{"a", "1"}}) == "}} 1");
  CHECK(filled("", {}).empty());
}

TEST_CASE("HTML: table cells are text and surplus cells are omitted") {
  HtmlTable table("t", "A \"table\"", {{"name"}, {"n", true}});
  table.add({"<x>", "1", "too many"}, 99);
  const std::string html = table.html();
  CHECK(html.find(
            "<th scope=\"row\" class=\"d12\"><span class=\"name\">&lt;x&gt;</span></th><td class=\"n\">1</td></tr>") !=
        std::string::npos);
  CHECK(html.find("aria-label=\"A &quot;table&quot;\"") != std::string::npos);
  CHECK(html.find("too many") == std::string::npos);
}
