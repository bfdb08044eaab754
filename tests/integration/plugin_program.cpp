// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Opens a plug-in that contains Takt, records in threads there, closes it, and ends the threads. Exits with 0 if it
// gets that far.
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>

#include <dlfcn.h>

namespace {

std::mutex g_mutex;
std::condition_variable g_changed;
int g_recorded = 0;
bool g_closed = false;

void record_and_wait(void (*record)()) {
  record();
  std::unique_lock<std::mutex> lock(g_mutex);
  ++g_recorded;
  g_changed.notify_all();
  g_changed.wait(lock, [] { return g_closed; });
}

}  // namespace

int main(int, char** arguments) {
  void* const plugin = ::dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) {
    std::fprintf(stderr, "%s\n", ::dlerror());
    return 1;
  }
  const auto record = reinterpret_cast<void (*)()>(::dlsym(plugin, "plugin_record"));
  const auto session = reinterpret_cast<bool (*)()>(::dlsym(plugin, "plugin_session"));
  if (!session()) { return 2; }
  std::thread first(record_and_wait, record);
  std::thread second(record_and_wait, record);
  {
    std::unique_lock<std::mutex> lock(g_mutex);
    g_changed.wait(lock, [] { return g_recorded == 2; });
  }
  ::dlclose(plugin);
  {
    const std::lock_guard<std::mutex> lock(g_mutex);
    g_closed = true;
    g_changed.notify_all();
  }
  first.join();
  second.join();
  return 0;
}
