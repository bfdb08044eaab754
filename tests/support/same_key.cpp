// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "support/same_key.hpp"

#include <takt/takt.hpp>

namespace takt_test {
namespace {
inline constexpr takt::Key Optimizer{"the optimizer of two files", takt::Kind::compute};
}

void time_in_another_file() { const takt::Scope s(Optimizer); }

}  // namespace takt_test
