// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/takt.hpp>

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <thread>

extern "C" void time_left();
extern "C" void time_right();

namespace {

void time_plugin() {
  void* module = dlopen(PLUGIN, RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) { return; }
  reinterpret_cast<void (*)()>(dlsym(module, "time_plugin"))();
  dlclose(module);
}

void step() {
  takt::Scope batch(takt::Batch);
  time_left();
  time_right();
  time_plugin();
}

}  // namespace

// The regions of all libraries are in one tree, under the program's Batch, with each path once.
int main() {
  step();
  step();
  std::thread(step).join();

  std::map<std::string, std::uint64_t> expected{{"Batch", 3}};
  for (const char* part : {"left", "right", "plugin"}) {
    const std::string path = std::string("Batch/") + part;
    expected[path] = expected[path + "/shared"] = expected[path + "/shared/shared"] = 3;
  }
  const takt::Snapshot snapshot = takt::snapshot();
  bool good = snapshot.paths.size() == expected.size();
  for (std::uint32_t path = 0; path < snapshot.paths.size(); ++path) {
    const std::string name = snapshot.path_name(path);
    const std::uint64_t n = snapshot.paths[path].host.n();
    std::printf("%s: %llu\n", name.c_str(), static_cast<unsigned long long>(n));
    good = good && expected.count(name) == 1 && expected[name] == n;
  }
  return good ? 0 : 1;
}
