// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/commands.hpp"

#include "support/catch.hpp"

#include <new>
#include <stdexcept>
#include <string>

TEST_CASE("Failure text: a lack of memory is reported with its remedy") {
  CHECK_THAT(takt::cli::failure_text(std::bad_alloc()), Catch::Contains("out of memory") && Catch::Contains("ulimit"));
  CHECK_THAT(takt::cli::failure_text(std::bad_array_new_length()), Catch::Contains("out of memory"));
  CHECK(takt::cli::failure_text(std::runtime_error("no such run")) == std::string("no such run"));
}
