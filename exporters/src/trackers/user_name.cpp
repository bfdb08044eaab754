// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "trackers/user_name.hpp"

#include "trackers/variables.hpp"

#include <cerrno>
#include <vector>

#include <pwd.h>
#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr std::size_t kMostEntry = std::size_t{1} << 20U;

std::string name_in_database() {
  passwd entry = {};
  passwd* found = nullptr;
  for (std::vector<char> room(4096); room.size() <= kMostEntry; room.resize(2 * room.size())) {
    const int error = ::getpwuid_r(::getuid(), &entry, room.data(), room.size(), &found);
    if (error == EINTR) { continue; }
    if (error != ERANGE) { return error == 0 && found != nullptr ? entry.pw_name : ""; }
  }
  return "";
}

}  // namespace

std::string user_name() {
  for (const char* const name : {"LOGNAME", "USER", "LNAME", "USERNAME"}) {
    if (std::string value = variable(name); !value.empty()) { return value; }
  }
  return name_in_database();
}

}  // namespace detail
TAKT_END_NAMESPACE
