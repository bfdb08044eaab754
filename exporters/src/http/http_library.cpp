// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "http/http_library.hpp"

#include <curl/curl.h>

#include <cstdint>
#include <mutex>

#include <dlfcn.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// Who is left behind at the end of the process may be in the middle of a connection. On the way out of exit() OpenSSL
/// would free what that works with, and the process would crash; what it keeps instead goes with the process.
void keep_openssl_at_exit() {
  using Init = int (*)(std::uint64_t options, const void* settings);
  constexpr std::uint64_t kNoAtExit = 0x00080000;  // OPENSSL_INIT_NO_ATEXIT of <openssl/crypto.h>, 1.1.1 and later
  // libcurl may have been built on something else; then there is no such function.
  if (const auto init = reinterpret_cast<Init>(::dlsym(RTLD_DEFAULT, "OPENSSL_init_crypto"))) {
    init(kNoAtExit, nullptr);
  }
}

}  // namespace

void set_up_http_library() {
  static std::once_flag once;
  std::call_once(once, [] {
    keep_openssl_at_exit();
    curl_global_init(CURL_GLOBAL_DEFAULT);
  });
}

}  // namespace detail
TAKT_END_NAMESPACE
