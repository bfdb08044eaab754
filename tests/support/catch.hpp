// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
// No #pragma once: this header is precompiled, and a precompiled header from a compiler cache may come from a copy with
// other comments, which #pragma once takes for another file.
#ifndef TAKT_TESTS_SUPPORT_CATCH_HPP
#define TAKT_TESTS_SUPPORT_CATCH_HPP

// Includes Catch2, major version 2 or 3.
#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_approx.hpp>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>
#include <catch2/matchers/catch_matchers_all.hpp>
using Catch::Approx;  // as in Catch2 2
#else
#include <catch2/catch.hpp>
#endif

#include <string>

namespace takt_test {

/// Matches an exception message that contains `part`, for CHECK_THROWS_WITH.
inline auto containing(const std::string& part) {
#if __has_include(<catch2/catch_test_macros.hpp>)
  return Catch::Matchers::ContainsSubstring(part);
#else
  return Catch::Matchers::Contains(part);
#endif
}

}  // namespace takt_test

#endif
