// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "trackers/time_line_file.hpp"

#include "base/file.hpp"

#include <cerrno>
#include <string>
#include <string_view>

#include <fcntl.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr std::string_view kTimeLineHead = R"({"displayTimeUnit":"ms","traceEvents":[)";

}  // namespace

Descriptor open_time_line(const FolderFiles& folder, const std::string& name) {
  Descriptor file = folder.open(name, O_RDONLY);
  std::string head;
  if (!file.is_open() || !read_at(file.number(), 0, kTimeLineHead.size(), head)) { return Descriptor(); }
  if (head == kTimeLineHead) { return file; }
  errno = ENOEXEC;
  return Descriptor();
}

}  // namespace detail
TAKT_END_NAMESPACE
