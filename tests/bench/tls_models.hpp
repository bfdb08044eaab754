// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace takt_bench {

/// Increment a thread-local of a shared library, through two TLS models.
void touch_initial_exec();
void touch_global_dynamic();

}  // namespace takt_bench
