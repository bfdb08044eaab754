# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause

# A toolchain: builds for Linux on aarch64 by Debian's cross compiler. Each program that it makes is a script that runs
# the real one, <program>.elf, under qemu-user-static, so that tests start it like any other.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CXX_LINK_EXECUTABLE
    "<CMAKE_CXX_COMPILER> <FLAGS> <CMAKE_CXX_LINK_FLAGS> <LINK_FLAGS> <OBJECTS> -o <TARGET>.elf <LINK_LIBRARIES>"
    "<CMAKE_COMMAND> -E copy ${CMAKE_CURRENT_LIST_DIR}/emulated.sh <TARGET>")

# The headers of fmt, nlohmann/json, CLI11 and Catch2 know no architecture. Behind those of the compiler, CMake leaves
# them there. Their packages are where this machine's own are.
set(CMAKE_CXX_FLAGS_INIT "-idirafter /usr/include")
file(GLOB fmt_DIR /usr/lib/*/cmake/fmt)
