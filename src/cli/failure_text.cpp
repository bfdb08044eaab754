// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/failure_text.hpp"

#include <new>

TAKT_BEGIN_NAMESPACE
namespace cli {

const char* failure_text(const std::exception& error) noexcept {
  if (dynamic_cast<const std::bad_alloc*>(&error) == nullptr) { return error.what(); }
  return "there is not enough memory for this: allow more (ulimit -v, the limit of the job or the container), or name "
         "fewer runs";
}

}  // namespace cli
TAKT_END_NAMESPACE
