// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/backends/profiler_window.hpp>
#include <takt/detail/process.hpp>

#include "cuda_api.hpp"

TAKT_BEGIN_NAMESPACE

int ProfilerWindow::rank_from_env() noexcept { return detail::profiler_rank(); }

ProfilerWindow::ProfilerWindow(std::int64_t first, std::int64_t end, int rank) noexcept
    : first_(first), end_(end), over_(rank != kAllRanks && rank != detail::this_rank()) {}

void ProfilerWindow::step(std::int64_t number) noexcept {
  if (!detail::window_step(number)) { return; }
  if (number >= end_) { stop(); }
  if (open_ || over_ || number < first_ || number >= end_) { return; }
  detail::CudaDriver& driver = detail::CudaDriver::get();
  if (driver.availability.reason() != nullptr || driver.profiler_start == nullptr) { return; }
  open_ = driver.profiler_start() == 0;
}

void ProfilerWindow::stop() noexcept {
  if (!open_) { return; }
  open_ = false;
  over_ = true;
  detail::CudaDriver& driver = detail::CudaDriver::get();
  if (driver.availability.reason() == nullptr && driver.profiler_stop != nullptr) { driver.profiler_stop(); }
}

TAKT_END_NAMESPACE
