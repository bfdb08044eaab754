// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "tls_models.hpp"

#include <cstdint>

namespace takt_bench {

__attribute__((tls_model("initial-exec"))) __thread std::uint64_t initial_exec_count = 0;
__attribute__((tls_model("global-dynamic"))) __thread std::uint64_t global_dynamic_count = 0;

void touch_initial_exec() { __atomic_store_n(&initial_exec_count, initial_exec_count + 1, __ATOMIC_RELAXED); }
void touch_global_dynamic() { __atomic_store_n(&global_dynamic_count, global_dynamic_count + 1, __ATOMIC_RELAXED); }

}  // namespace takt_bench
