// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "measure/predictions.hpp"

#include <takt/error.hpp>

#include "support/catch.hpp"
#include "support/mentions.hpp"

#include <string>

using takt::detail::CsvTable;
using takt_test::mentions;

namespace {

std::string table_refusal_of(const std::string& text) {
  try {
    const CsvTable table(text, "f.csv");
    for (std::size_t row = 0; row < table.rows(); ++row) { table.amount(row, table.column("b")); }
  } catch (const takt::Error& error) { return error.what(); }
  return "";
}

}  // namespace

TEST_CASE("CsvTable: reads fields, quotes, line ends and blanks") {
  const CsvTable table(
      "\xEF\xBB\xBF"
      "a, b ,\"c,d\"\r\n1,2.5,\"x\"\"y\nz\"\n\n\t3 ,,last",
      "f.csv");
  REQUIRE(table.rows() == 2);
  REQUIRE(table.column("a") == 0);
  REQUIRE(table.column("b") == 1);
  REQUIRE(table.column("c,d") == 2);
  REQUIRE(table.column("e") == CsvTable::kNoColumn);
  CHECK(table.text(0, 2) == "x\"y\nz");
  CHECK(table.amount(0, 1) == 2.5);
  CHECK(table.text(1, 0) == "3");
  CHECK_FALSE(table.amount(1, 1).has_value());
  CHECK_FALSE(table.amount(1, CsvTable::kNoColumn).has_value());
  CHECK(table.text(1, 2) == "last");
  CHECK(table.line(0) == 2);
  CHECK(table.line(1) == 5);  // after a quoted line feed and an empty line
}

TEST_CASE("CsvTable: a header alone is a table without rows") {
  CHECK(CsvTable("a,b", "f.csv").rows() == 0);
  CHECK(CsvTable("a,b\n", "f.csv").rows() == 0);
}

TEST_CASE("CsvTable: refuses malformed tables with their line") {
  CHECK(mentions(table_refusal_of(""), {"f.csv, line 1", "empty"}));
  CHECK(mentions(table_refusal_of("a,b,a\n"), {"f.csv, line 1", "'a'", "duplicate"}));
  CHECK(mentions(table_refusal_of("a,b\n1,2\n1\n"), {"f.csv, line 3", "1", "2"}));  // number of fields, and of columns
  CHECK(mentions(table_refusal_of("a,b\n1,2,3\n"), {"f.csv, line 2", "3", "2"}));
  const std::string no_end = table_refusal_of("a,b\n1,\"2\n3\n");
  CHECK(mentions(no_end, {"f.csv, line 2"}));
  const std::string behind_end = table_refusal_of("a,b\n1,\"2\"3\n");
  CHECK(mentions(behind_end, {"f.csv, line 2"}));
  CHECK(behind_end != no_end);
  CHECK(mentions(table_refusal_of(std::string("a,b\n1,2\n\0,3\n", 13)), {"f.csv, line 3", "zero byte"}));
  CHECK(mentions(table_refusal_of("a,b\n1,abc\n"), {"f.csv, line 2", "b", "'abc'"}));
  for (const char* field : {"-1", "nan", "inf", "1e999", "0x10", "1,5", "1 2", "\x1b[2J"}) {
    INFO(field);
    CHECK(mentions(table_refusal_of(std::string("a,b\n1,\"") + field + "\"\n"), {"f.csv, line 2", "b", "number"}));
  }
  CHECK(table_refusal_of("a,b\n1,\"\x1b[2J\"\n").find('\x1b') == std::string::npos);
}

TEST_CASE("CsvTable: refuses tables beyond the limits") {
  CHECK(mentions(table_refusal_of(std::string(CsvTable::kMaxBytes + 1, 'x')), {"4194304"}));
  CHECK(mentions(table_refusal_of(std::string(CsvTable::kMaxBytes, ',')), {"1000"}));
  std::string rows = "a\n";
  for (std::size_t row = 0; row <= CsvTable::kMaxRows; ++row) { rows += "1\n"; }
  CHECK(mentions(table_refusal_of(rows), {"line 100002", "100000"}));
  CHECK(table_refusal_of("a,b\n1,\"" + std::string(1'000'000, 'x') + "\"\n").size() < 200);
}
