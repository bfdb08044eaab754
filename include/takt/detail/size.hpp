// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// std::size_t alone: <cstddef> brings std::byte with it, eighty lines in every file that includes Takt.
#include <ctime>
