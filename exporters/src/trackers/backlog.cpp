// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "trackers/backlog.hpp"

#include "base/fault.hpp"

#include <cerrno>

TAKT_BEGIN_NAMESPACE
namespace detail {

bool Backlog::write(const std::string& place) {
  if (given_up_) { return false; }
  if (file_.backlog() == 0 || file_.flush()) { return true; }
  const std::string why = fault_("write", place, errno);
  if (file_.backlog() > most_) {
    give_up(place, why);
  } else {
    report_fault_once(tracker_.cause("write ") + place,
                      why + ". What is missing is kept, and written when that can be done");
  }
  return false;
}

void Backlog::give_up(const std::string& place, const std::string& why) {
  given_up_ = true;
  file_.discard();
  report_fault_once(tracker_.cause("stopped ") + place,
                    why + ". Nothing more is written for " + tracker_.title + "; the run goes on" + cure_);
}

}  // namespace detail
TAKT_END_NAMESPACE
