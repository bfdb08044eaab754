// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Sets libcurl up, before its first use in the process. Any thread.
void set_up_http_library();

}  // namespace detail
TAKT_END_NAMESPACE
