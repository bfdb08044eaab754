// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>

/// Number of ranges that the fake profiler received. The program that contains it reads it with ranges_reported().
inline std::atomic<long>& ranges_pushed() {
  static std::atomic<long> count{0};
  return count;
}
/// False: ranges are only counted.
inline bool writes_down() {
  static const bool asked = std::getenv("RANGES_LOG") != nullptr;
  return asked;
}

/// Writes a line for each call of the fake profiler, with the thread's number, to the file RANGES_LOG.
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
