// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/commands.hpp"

#include "base/file.hpp"

#include <takt/error.hpp>

#include <new>

TAKT_BEGIN_NAMESPACE
namespace cli {

const char* failure_text(const std::exception& error) noexcept {
  if (dynamic_cast<const std::bad_alloc*>(&error) == nullptr) { return error.what(); }
  return "out of memory: allow more (ulimit -v, the limit of the job or the container), or name "
         "fewer runs";
}

void write_page_file(const std::string& file, const std::string& page) {
  std::string error;
  const bool is_written = detail::write_whole(
      file, [&page](detail::WholeFile& whole) { return whole.write(page); }, error, "name a writable file with --html");
  if (!is_written) { throw Error(error); }
}

}  // namespace cli
TAKT_END_NAMESPACE
