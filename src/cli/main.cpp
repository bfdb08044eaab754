// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/text.hpp"
#include "cli/command_line.hpp"
#include "cli/commands.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>

int main(int count, char** arguments) {
  try {
    return takt::cli::run_command_line({arguments + std::min(count, 1), arguments + count});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "takt: %s\n", takt::detail::printable(takt::cli::failure_text(error)).c_str());
    return takt::cli::kBroken;
  }
}
