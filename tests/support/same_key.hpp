// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace takt_test {

/// Times a region of a key with the same name as one in key_test.cpp.
void time_in_another_file();

}  // namespace takt_test
