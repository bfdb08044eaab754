# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause

# A toolchain file: builds for Linux on aarch64 with Debian's cross compiler. Each built program is a script that runs
# the real one, <program>.elf, under qemu-user-static, so tests start it like any other.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CXX_LINK_EXECUTABLE
    "<CMAKE_CXX_COMPILER> <FLAGS> <CMAKE_CXX_LINK_FLAGS> <LINK_FLAGS> <OBJECTS> -o <TARGET>.elf <LINK_LIBRARIES>"
    "<CMAKE_COMMAND> -E copy ${CMAKE_CURRENT_LIST_DIR}/emulated.sh <TARGET>")

# The headers of fmt, nlohmann/json, CLI11 and Catch2 do not depend on the architecture, so this machine's packages are
# used. -idirafter puts them after the compiler's own, and CMake does not move them.
set(CMAKE_CXX_FLAGS_INIT "-idirafter /usr/include")
file(GLOB fmt_DIR /usr/lib/*/cmake/fmt)
