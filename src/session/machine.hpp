// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Reads the machine and the program of this process: files of the kernel, of drivers, and of git (base/git_tree.hpp)
/// for the working directory, else for the program's file. Loads no driver and runs no program. Unreadable data is
/// unknown, not an error. Any thread, if no other one changes the working directory. Throws std::bad_alloc.
/// \param command_line false: the command is unknown.
/// \param system prefix of the system's paths, for tests.
MachineInfo read_machine(bool command_line, const std::string& system = "");

/// Adds what is known only later: libraries (add_library_version()), and models of sampled devices if the drivers list
/// none. Any thread.
void add_later(const std::vector<Sensor>& sensors, MachineInfo& machine);

}  // namespace detail
TAKT_END_NAMESPACE
