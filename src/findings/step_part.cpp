// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "findings/step_part.hpp"

#include <takt/exposed.hpp>

#include <algorithm>
#include <cctype>
#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

bool says_that_it_writes(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char each) { return static_cast<char>(std::tolower(each)); });
  const auto has = [&name](const char* word) { return name.find(word) != std::string::npos; };
  return has("checkpoint") || has("save") || has("write") || has("log") || has("dump") || has("output");
}

}  // namespace

StepPart part_of_step(const RunView& view, std::uint32_t path) {
  for (; path < view.run.paths.size() && path != view.series->path; path = view.run.paths[path].parent) {
    const PathStats& here = view.run.paths[path];
    const Exposed::For waits = Exposed::what(view.run, path);
    if (here.kind == Kind::comm || waits == Exposed::For::comm) { return StepPart::communication; }
    if (here.kind == Kind::io) { return says_that_it_writes(here.name) ? StepPart::output : StepPart::input; }
    if (waits == Exposed::For::io) { return StepPart::input; }
    if (here.kind == Kind::compute || waits == Exposed::For::other) { return StepPart::other; }
  }
  return StepPart::other;
}

}  // namespace detail
TAKT_END_NAMESPACE
