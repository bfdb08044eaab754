// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// TEST_SANITIZED: 1 where a sanitizer is at work, else 0. There every step costs many times as much, and the child of
/// a process
/// with a thread that allocates may hang: a sanitizer's allocator knows nothing of fork().
#define TEST_SANITIZED 0
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#undef TEST_SANITIZED
#define TEST_SANITIZED 1
#elif defined(__has_feature)  // clang's way to say it
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(undefined_behavior_sanitizer)
#undef TEST_SANITIZED
#define TEST_SANITIZED 1
#endif
#endif

namespace takt_test {

inline constexpr bool kSanitized = TEST_SANITIZED != 0;

}  // namespace takt_test
