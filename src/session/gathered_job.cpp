// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "session/gathered_job.hpp"

#include <takt/error.hpp>

#include "base/report_error.hpp"
#include "base/text.hpp"
#include "ranks/gathered_ranks.hpp"
#include "report/job_figures.hpp"

#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

std::shared_ptr<const Job> GatheredJob::figures() {
  const std::lock_guard<std::mutex> lock(making_);
  if (made_) { return job_; }
  try {
    job_ = make();
  } catch (const Error& error) {
    report_error("mpi.figures",
                 Words("takt::mpi::reduce(): the data of the ranks is unusable, so there are no figures of the job: ",
                       error.what(), "; takt report reads the files of all ranks"));
  }
  made_ = true;
  part_ = GatheredRanks();
  first_.reset();
  return job_;
}

std::shared_ptr<const Job> GatheredJob::make() const {
  std::vector<GatheredRank> ranks;
  ranks.reserve(part_.ranks.size());
  for (const GatheredRanks::Rank& each : part_.ranks) {
    ranks.push_back(unpack_rank(each.bytes));
    ranks.back().who.number = each.number;
  }
  return job_of(unpack(part_.record), ranks, *first_, world_size_, missing_from(part_, world_size_));
}

}  // namespace detail
TAKT_END_NAMESPACE
