// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// A program whose main() is not C++, such as a climate model in Fortran, uses Takt through a few functions with C
// linkage. A joined Timer does the work: it starts and ends regions by hand and records where Scopes record. main()
// below calls only these functions, as Fortran does; docs/integrating.md has the Fortran interface.
#include <takt/takt.hpp>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>

// [snippet: shim]
static std::unique_ptr<takt::Session> run;

static takt::Timer<takt::CpuBackend>& timer() {
  // Never destroyed: other threads may still use it at exit.
  static auto& joined = *new takt::Timer<takt::CpuBackend>(takt::Timer<takt::CpuBackend>::joined());
  return joined;
}

/// Returns 0, or 1 if a run exists already: no exception may leave a function that Fortran calls.
extern "C" int shim_open(const char* name) noexcept {
  try {
    run = std::make_unique<takt::Session>(name);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
extern "C" void shim_close() noexcept { run.reset(); }

/// Returns the key of a name; call it once per name. Kinds as in takt::Kind: 0 compute, 1 comm, 2 io, 3 wait, 4 other.
extern "C" const takt::Key* shim_key(const char* name, int kind) noexcept {
  return &takt::key(name, static_cast<takt::Kind>(kind));
}
extern "C" void shim_begin(const takt::Key* key) noexcept { timer().start(*key); }
extern "C" void shim_end(const takt::Key* key) noexcept { timer().end(*key); }
// [end]

int main() {
  if (shim_open("model") != 0) { return 1; }
  const takt::Key* step = shim_key("Batch", 4);  // each end of a "Batch" makes a row
  const takt::Key* physics = shim_key("physics", 0);
  const takt::Key* halo = shim_key("halo", 1);
  double temperature = 300;
  for (int hour = 0; hour < 24; ++hour) {
    shim_begin(step);
    shim_begin(physics);
    for (int cell = 0; cell < 1000; ++cell) { temperature += 0.5 * (280 - temperature) / 1000; }
    shim_end(physics);
    shim_begin(halo);
    shim_end(halo);
    shim_end(step);
  }

  std::uint64_t steps = 0;
  std::uint64_t inside = 0;
  const takt::Snapshot snapshot = takt::snapshot();
  for (const takt::Series& series : snapshot.series) { steps += series.steps; }
  for (std::uint32_t path = 0; path < snapshot.paths.size(); ++path) {
    const std::string name = snapshot.path_name(path);
    if (name == "Batch/physics" || name == "Batch/halo") { inside += snapshot.paths[path].host.n(); }
  }
  const bool again = shim_open("second") == 0;
  shim_close();
  std::printf("%llu steps, %llu regions inside them, %.0f K\n", static_cast<unsigned long long>(steps),
              static_cast<unsigned long long>(inside), temperature);
  return steps == 24 && inside == 48 && !again && snapshot.losses.empty() ? 0 : 1;
}
