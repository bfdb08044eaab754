// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <functional>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Somebody has pressed "stop" at W&B: says so, and tells the program by `on_stop`, if there is one. Any thread.
void tell_wandb_stop(const std::function<void()>& on_stop);

}  // namespace detail
TAKT_END_NAMESPACE
