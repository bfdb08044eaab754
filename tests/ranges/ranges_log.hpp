// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>

/// Ranges that a profiler of the tests was told of. For the program that it is in, as ranges_reported().
inline std::atomic<long>& ranges_pushed() {
  static std::atomic<long> count{0};
  return count;
}
/// False: ranges are counted and nothing else.
inline bool writes_down() {
  static const bool asked = std::getenv("RANGES_LOG") != nullptr;
  return asked;
}

/// What a profiler of the tests is told, a line each, with the number of the thread: in the file that RANGES_LOG names.
inline void write_down(const std::string& what) {
  if (!writes_down()) { return; }
  static std::mutex mutex;
  static std::FILE* const log = std::fopen(std::getenv("RANGES_LOG"), "we");
  static std::atomic<int> threads{0};
  static thread_local const int thread = threads++;
  const std::lock_guard<std::mutex> lock(mutex);
  std::fprintf(log, "%d %s\n", thread, what.c_str());
  std::fflush(log);
}
