// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/exporters/console.hpp>
#include <takt/takt.hpp>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <string>

int main() {
  takt::Session session("consumer");
  { takt::Scope batch(takt::Batch); }
  const std::string table = takt::format_table(takt::snapshot(), {120, false});
  const bool takt_has_its_own = table.find("Batch") != std::string::npos && table.find("another") == std::string::npos;
  const bool program_has_its_own = fmt::format("{}", 1) == "by another fmt";
  const bool json_works = nlohmann::json::parse("[1]").dump() == "[1]";
  std::printf("%s\nTakt formats with its own copy: %d, the program with its own: %d\n", table.c_str(), takt_has_its_own,
              program_has_its_own);
  return takt_has_its_own && program_has_its_own && json_works ? 0 : 1;
}
