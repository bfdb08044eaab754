// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <climits>
#include <string>

#include <sys/types.h>
#include <unistd.h>

namespace takt_test {

inline constexpr pid_t kNobody = 0x3FFFFFFF;  // above the maximum process id

inline std::string this_host() {
  char name[HOST_NAME_MAX + 1] = {};
  ::gethostname(name, HOST_NAME_MAX);
  return name;
}

}  // namespace takt_test
