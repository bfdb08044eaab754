// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// TEST_SANITIZED: 1 with a sanitizer, else 0. Sanitizers make every step much slower. Forking a process with an
/// allocating thread may hang the child, because a sanitizer's allocator does not handle fork().
#define TEST_SANITIZED 0
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#undef TEST_SANITIZED
#define TEST_SANITIZED 1
#elif defined(__has_feature)  // as clang reports it
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(undefined_behavior_sanitizer)
#undef TEST_SANITIZED
#define TEST_SANITIZED 1
#endif
#endif

namespace takt_test {

inline constexpr bool kSanitized = TEST_SANITIZED != 0;

}  // namespace takt_test
