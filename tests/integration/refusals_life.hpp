// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "refusals.hpp"

/// A short program that uses all of Takt's public interface.
namespace life {

/// Runs from the first region to the end while memory is refused. Returns a status for _exit(): 0 on success.
int live(const refusals::Plan& plan);
/// Returns the meaning of a status.
const char* error_of(int status);

}  // namespace life
