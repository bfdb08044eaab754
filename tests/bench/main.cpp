// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Measures the cost of regions and of the floor under every timer: takt_bench [--quick]
#include "driver.hpp"

#include "process/process.hpp"

#include <cstdio>
#include <cstring>

int main(int argc, char** argv) {
  const bool quick = argc > 1 && std::strcmp(argv[1], "--quick") == 0;
  if (argc > 2 || (argc == 2 && !quick)) {
    std::fprintf(stderr, "usage: %s [--quick]\n", argv[0]);
    return 2;
  }
  takt_bench::Rounds rounds("two TSC reads", takt_bench::two_tsc_reads);
  takt_bench::add_floors(rounds);
  takt_bench::add_scopes(rounds);
  takt_bench::add_compiled_out(rounds);
  takt_bench::add_ablations(rounds);
  rounds.run(quick ? 20 : 150);
  rounds.print();
  std::printf("%-44s %39.2f\n", "two threads at once, beside one",
              rounds.ratio("scope: hot, two threads at once") / rounds.ratio("scope: hot"));
  std::printf("%-44s %39.2f\n", "takt_begin() and takt_end() of C, beside a Scope",
              rounds.ratio("C: takt_begin(), takt_end()") / rounds.ratio("scope: hot"));
  takt_bench::print_rows(quick);
  takt_bench::print_cold(quick);
  takt_bench::print_memory(quick);
  const takt::ClockInfo clock = takt::detail::process_clock().info();
  std::printf("\nclock: %s, rate within %.3g ppm, an empty region reads %lld ns\n", clock.name.c_str(), clock.error_ppm,
              static_cast<long long>(clock.empty_region_ns));
}
