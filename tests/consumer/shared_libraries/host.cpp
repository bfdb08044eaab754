// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Does not use Takt itself: repeatedly opens and closes a plug-in that times regions. libtakt was loaded by the plug-in
// and must stay loaded until the threads that recorded in it have ended.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <future>
#include <string>
#include <thread>

namespace {

bool is_mapped(const char* file) {
  std::FILE* const maps = std::fopen("/proc/self/maps", "r");
  bool found = false;
  char line[1024];
  while (maps != nullptr && std::fgets(line, sizeof line, maps) != nullptr) {
    found = found || std::strstr(line, file) != nullptr;
  }
  if (maps != nullptr) { std::fclose(maps); }
  return found;
}

bool check(bool good, const char* what) {
  if (!good) { std::printf("failed: %s\n", what); }
  return good;
}

template <class Function>
Function* function(void* plugin, const char* name) {
  return reinterpret_cast<Function*>(dlsym(plugin, name));
}

/// Calls the plug-in once from this thread and once from a thread that outlives it.
bool visit() {
  void* const plugin = dlopen(PLUGIN, RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) { return check(false, dlerror()); }
  auto* const time = function<void()>(plugin, "time_plugin");
  time();
  std::promise<void> timed;
  std::promise<void> closed;
  std::thread other([&] {
    time();
    timed.set_value();
    closed.get_future().wait();
  });
  timed.get_future().wait();
  const bool good = check(dlclose(plugin) == 0, "dlclose");
  closed.set_value();
  other.join();
  return good;
}

}  // namespace

int main() {
  constexpr int kVisits = 100;
  bool good = check(!is_mapped("libtakt"), "libtakt is not there at first");
  for (int turn = 0; turn < kVisits; ++turn) { good = visit() && good; }
  good = check(!is_mapped(PLUGIN), "the plug-in has gone") && good;
  good = check(is_mapped("libtakt"), "libtakt has stayed") && good;
  void* const plugin = dlopen(PLUGIN, RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) { return 1; }
  const unsigned long long calls = function<unsigned long long()>(plugin, "count_plugin")();
  std::printf("%llu calls\n", calls);
  return check(calls == 2 * kVisits, "every call was kept") && good ? 0 : 1;
}
