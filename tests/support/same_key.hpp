// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace takt_test {

/// One region of a key that has the name of one in key_test.cpp.
void time_in_another_file();

}  // namespace takt_test
