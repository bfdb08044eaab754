// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/page_file.hpp"

#include <takt/error.hpp>

#include "base/file.hpp"

TAKT_BEGIN_NAMESPACE
namespace cli {

void write_page_file(const std::string& file, const std::string& page) {
  std::string error;
  const bool is_written = detail::write_whole(
      file, [&page](detail::WholeFile& whole) { return whole.write(page); }, error,
      "name a file that can be written with --html");
  if (!is_written) { throw Error(error); }
}

}  // namespace cli
TAKT_END_NAMESPACE
