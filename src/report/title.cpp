// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "report/title.hpp"

#include "base/format.hpp"
#include "base/text.hpp"

TAKT_BEGIN_NAMESPACE
namespace detail {

std::string title_of(const Snapshot& snapshot) {
  const RunInfo& run = snapshot.run;
  const char* state = snapshot.killed     ? "killed after"
                      : snapshot.failed   ? "failed after"
                      : snapshot.finished ? "took"
                                          : "so far";
  // Several ranks that were added up have no number.
  const std::string ranks = run.rank < 0 ? detail::format("{} ranks", run.world_size)
                                         : detail::format("rank {} of {}", run.rank, run.world_size);
  return detail::format("Takt: {}, run {}, {}, {} {}", printable(run.name), printable(run.id), ranks, state,
                        human_time(static_cast<double>(snapshot.wall_ns)));
}

}  // namespace detail
TAKT_END_NAMESPACE
