// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "refusals.hpp"

/// A program that uses all of Takt's public interface, in short.
namespace life {

/// From the first region to the end, while memory is refused. Returns a status for _exit(): 0 if all went as it should.
int live(const refusals::Plan& plan);
/// What a status means.
const char* error_of(int status);

}  // namespace life
