// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/format.hpp"

// Takt's copy of fmt is header-only and has its own namespace: a program may link another version or build of fmt.
// Unused argument types are disabled.
// NOLINTBEGIN(readability-identifier-naming): fmt's names
#undef FMT_USE_FLOAT
#define FMT_USE_FLOAT 0
#undef FMT_USE_LONG_DOUBLE
#define FMT_USE_LONG_DOUBLE 0
#undef FMT_USE_INT128
#define FMT_USE_INT128 0
#ifndef FMT_HEADER_ONLY
#define FMT_HEADER_ONLY
#endif
#define FMT_BEGIN_NAMESPACE \
  namespace fmt {           \
  inline namespace takt_private {
#define FMT_END_NAMESPACE \
  }                       \
  }
// NOLINTEND(readability-identifier-naming)
#include <fmt/args.h>
#include <fmt/format.h>

#include <cerrno>
#include <system_error>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

using FormatStore = fmt::dynamic_format_arg_store<fmt::format_context>;

FormatStore store_of(const FormatArgument* arguments, std::size_t count) {
  FormatStore store;
  store.reserve(count, 0);
  for (const FormatArgument* each = arguments; each != arguments + count; ++each) {
    switch (each->kind()) {
      case FormatArgument::Kind::boolean:
        store.push_back(each->signed_integer() != 0);
        break;
      case FormatArgument::Kind::character:
        store.push_back(static_cast<char>(each->signed_integer()));
        break;
      case FormatArgument::Kind::signed_integer:
        store.push_back(each->signed_integer());
        break;
      case FormatArgument::Kind::unsigned_integer:
        store.push_back(each->unsigned_integer());
        break;
      case FormatArgument::Kind::real:
        store.push_back(each->real());
        break;
      case FormatArgument::Kind::text:
        store.push_back(each->text());
        break;
    }
  }
  return store;
}

}  // namespace

std::string format_arguments(std::string_view pattern, const FormatArgument* arguments, std::size_t count) {
  return fmt::vformat(fmt::string_view(pattern.data(), pattern.size()), store_of(arguments, count));
}

void print_arguments(std::FILE* file, std::string_view pattern, const FormatArgument* arguments, std::size_t count) {
  const std::string text = format_arguments(pattern, arguments, count);
  if (std::fwrite(text.data(), 1, text.size(), file) != text.size() || std::ferror(file) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot write");
  }
}

}  // namespace detail
TAKT_END_NAMESPACE
