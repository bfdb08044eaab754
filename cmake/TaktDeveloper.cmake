# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause

# Flags for Takt's own code. Neither target is installed, and the warnings never apply to code that links takt::takt.
add_library(takt_warnings INTERFACE)
target_compile_options(takt_warnings INTERFACE -Wall -Wextra -Wconversion -Wshadow -Wpedantic)
if(TAKT_WARNINGS_AS_ERRORS)
  target_compile_options(takt_warnings INTERFACE -Werror)
endif()

# Everything in the build that links takt uses the same sanitizer, or none.
add_library(takt_sanitizer INTERFACE)
if(NOT TAKT_SANITIZE MATCHES "^(|address|undefined|address,undefined|thread)$")
  message(FATAL_ERROR "TAKT_SANITIZE is '${TAKT_SANITIZE}'; it can be address; undefined; address,undefined; thread; "
                      "or empty.")
elseif(TAKT_SANITIZE)
  target_compile_options(takt_sanitizer INTERFACE -fsanitize=${TAKT_SANITIZE} -fno-omit-frame-pointer)
  target_compile_options(takt_sanitizer INTERFACE -fno-sanitize-recover=all)
  # Driver functions are declared without the vendors' types and called through pointers of the declared type.
  target_compile_options(takt_sanitizer INTERFACE $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>)
  target_link_options(takt_sanitizer INTERFACE -fsanitize=${TAKT_SANITIZE})
endif()
