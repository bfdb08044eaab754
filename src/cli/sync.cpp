// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/sync.hpp"

#include "base/environment.hpp"
#include "base/folder_files.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/destinations.hpp"
#include "cli/rank.hpp"
#include "cli/ranks_of_run.hpp"
#include "cli/results_file.hpp"
#include "cli/run_folder.hpp"
#include "cli/run_report.hpp"
#include "findings/findings.hpp"
#include "findings/step_history.hpp"
#include "journal/journal_reader.hpp"
#include "measure/trial_rate.hpp"
#include "ranks/gathered_ranks.hpp"
#include "ranks/rank_record.hpp"
#include "ranks/rank_steps.hpp"
#include "report/job_report.hpp"

#include <takt/error.hpp>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/ioctl.h>
#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

const Destination& destination_of(const SyncWishes& wishes) {
  for (const Destination& each : destinations()) {
    if (wishes.to == each.name) { return each; }
  }
  if (!wishes.to.empty()) { throw Error("there is no destination " + wishes.to); }
  return destinations().front();
}

Synced sync_with_bar(const std::string& folder, const SyncFolder& deliver) {
  Progress progress(detail::printable(folder.substr(folder.rfind('/') + 1)));
  return deliver(folder, [&](std::uint64_t done, std::uint64_t whole) { progress.show(done, whole); });
}

/// Returns the status.
int sync_one(const std::string& folder, const SyncFolder& deliver) {
  const std::string name = detail::printable(folder) + ": ";
  const auto print = [&](std::FILE* where, const std::string& words) {
    std::fputs((name + detail::printable(words) + "\n").c_str(), where);
  };
  try {
    const Synced synced = sync_with_bar(folder, deliver);
    print(synced.status == 0 ? stdout : stderr, synced.words);
    if (!synced.remark.empty()) { print(stderr, synced.remark); }
    return synced.status == 0 && tell_lost(folder, name) ? kLossy : synced.status;
  } catch (const std::exception& error) {
    print(stderr, failure_text(error));
    return kBroken;
  }
}

/// What was delivered is noted beside the journal, and a merged file stays as it is. Returns the status.
int refuse_merged(const std::string& file) {
  const std::string name = detail::printable(file);
  std::fprintf(stderr,
               "takt: %s is a merged file, from which nothing is delivered; unpack it (tar xf %s -C FOLDER), "
               "and call takt sync FOLDER/<run id>\n",
               name.c_str(), name.c_str());
  return kBroken;
}

}  // namespace

int sync(const std::vector<std::string>& runs, const SyncWishes& wishes) {
  std::signal(SIGPIPE, SIG_IGN);  // whoever reads along may leave; TLS connections may break
  const SyncFolder deliver = destination_of(wishes).open(wishes);
  std::set<std::string> refused;
  return for_rank_folders(runs, [&](const RankFolder& folder) {
    if (folder.file() == nullptr) { return sync_one(folder.path(), deliver); }
    return refused.insert(folder.file()->path()).second ? refuse_merged(folder.file()->path()) : kBroken;
  });
}

}  // namespace cli
namespace cli {
namespace {

/// What says which ranks count, without their figures.
std::vector<Rank> bare_ranks(const std::vector<RankFolder>& folders, const std::string& id) {
  std::vector<Rank> ranks;
  for (const RankFolder& folder : folders) {
    Rank rank = read_rank(folder);
    if (!rank.readable() || rank.snapshot.run.id != id) { continue; }
    drop_figures(rank);
    ranks.push_back(std::move(rank));
  }
  return ranks;
}

/// Others than rank 0 that have not ended.
std::vector<std::uint32_t> late_ranks(const PickedRanks& last) {
  std::vector<std::uint32_t> late;
  for (const Rank& each : last.ranks) {
    const bool goes_on =
        each.ending == Ending::running || (each.ending == Ending::silent && !is_given_up(*each.folder.open()));
    const int number = each.snapshot.run.rank;
    if (goes_on && number != 0) { late.push_back(static_cast<std::uint32_t>(number)); }
  }
  return late;
}

std::shared_ptr<const Job> job_of_ranks(const PickedRanks& last, const std::vector<std::uint32_t>& missing) {
  const std::size_t most_values = detail::values_of_a_rank(last.ranks.size());
  detail::RankRecord record;
  std::vector<detail::GatheredRank> ranks;
  Snapshot first;
  for (const Rank& each : last.ranks) {
    detail::RankSteps steps(most_values);
    Snapshot snapshot = read_rank(each.folder, [&](const Snapshot& part) { steps.add(part); }).snapshot;
    detail::merge_into(record, detail::record_of(snapshot));
    ranks.push_back({detail::job_rank_of(snapshot), detail::series_of(snapshot), std::move(steps)});
    if (first.paths.empty()) { first = std::move(snapshot); }
  }
  return detail::job_of(std::move(record), ranks, first, static_cast<std::uint32_t>(last.world), missing);
}

}  // namespace

JobOfFolders job_of_folders(const std::string& folder, const RunInfo& run, std::uint64_t told) {
  const std::vector<RankFolder> folders = ranks_in(detail::folder_part(folder));
  if (folders.size() <= told || (folders.size() < 2 && run.world_size < 2)) { return {}; }
  std::vector<Rank> of_run = bare_ranks(folders, run.id);
  if (of_run.empty()) { return {}; }
  const PickedRanks last = pick_last(std::move(of_run));
  const bool counts = std::any_of(last.ranks.begin(), last.ranks.end(),
                                  [&](const Rank& each) { return each.folder.name() == detail::name_part(folder); });
  if (!counts || last.ranks.size() <= told || last.world < 2) { return {}; }
  JobOfFolders figures;
  const std::vector<std::uint32_t> late = late_ranks(last);
  const std::vector<std::uint32_t> missing = missing_ranks(last.ranks, last.world);
  figures.waits = !late.empty();
  if (figures.waits) {
    figures.remark = "figures over ranks wait for what has not ended: ranks " + detail::rank_list(late);
  } else if (!missing.empty()) {
    figures.remark = detail::format("figures over ranks: {} of {} ranks left no journal beside this one: {}",
                                    missing.size(), last.world, detail::rank_list(missing));
  }
  if (!figures.waits && last.ranks.size() > 1) { figures.job = job_of_ranks(last, missing); }
  return figures;
}

}  // namespace cli
namespace cli {
namespace {

bool leave_to_rank_0(Outcome& outcome, std::string& why) {
  outcome = Outcome::not_sent;
  why = "rank 0 speaks for the run (--all-ranks changes that)";
  return false;
}

}  // namespace

FolderTurn::FolderTurn(std::string folder, const detail::Tracker& tracker)
    : folder_(std::move(folder)), tracker_(tracker), files_(std::make_shared<detail::FolderFiles>(folder_)) {}

bool FolderTurn::begin(bool all_ranks, Outcome& outcome, std::string& why) {
  Snapshot first;
  if (!detail::JournalReader(files_).read_part(first)) {
    outcome = Outcome::unreadable;
    why = why_unreadable(read_rank(folder_));
    return false;
  }
  run_ = first.run;
  run_.directory = folder_;  // it may have been moved
  const bool may_send = run_.rank == 0 || all_ranks;
  if (!may_send && tracker_.cursor == nullptr) { return leave_to_rank_0(outcome, why); }
  if (!lease_.take(files_, tracker_.lease)) {
    if (lease_.is_broken()) { throw Error(lease_.problem()); }
    outcome = Outcome::busy;
    why = lease_.problem();
    return false;
  }
  is_begun_ = tracker_.cursor != nullptr && files_->may_exist(tracker_.cursor);
  return may_send || is_begun_ || leave_to_rank_0(outcome, why);
}

bool FolderTurn::read_cursor(std::size_t most, std::string& text) const {
  return files_->read_whole(tracker_.cursor, most, text);
}

const JobOfFolders& FolderTurn::job() {
  if (!job_) { job_ = run_.rank == 0 ? job_of_folders(folder_, run_, told_ranks_) : JobOfFolders(); }
  return *job_;
}

FolderTurn::Reading FolderTurn::read(const Show& show) {
  Snapshot snapshot;
  Reading reading = read_journal(show, snapshot);
  if (!reading.whole || !reading.ended) { return reading; }
  reading.ended = !job().waits;
  snapshot.job = job().job;
  if (snapshot.job != nullptr) { reading.whole = show(snapshot, Part::job); }
  return reading;
}

/// \param snapshot the last one.
FolderTurn::Reading FolderTurn::read_journal(const Show& show, Snapshot& snapshot) const {
  detail::JournalReader reader(files_);
  detail::StepHistory history;
  const auto give = [&](Part part) {
    snapshot.run.directory = folder_;  // it may have been moved
    history.add(snapshot);
    if (snapshot.finished) {
      std::string why;  // takt report tells what is wrong with them
      snapshot.trials = read_trials(RankFolder(folder_), why);
      snapshot.measurements = read_results(RankFolder(folder_), why);
      detail::conclude(snapshot, std::make_shared<const detail::StepHistory>(history.finished()));
      detail::add_finding_of_trials(snapshot);
    }
    const bool taken = show(snapshot, part);
    snapshot.rows.clear();
    snapshot.metrics.clear();
    snapshot.samples.clear();
    return taken;
  };
  bool taken = true;
  while (taken && reader.read_part(snapshot)) { taken = give(Part::rows); }
  const Ending ending = ending_of(*files_, reader, snapshot);
  const bool given_up = ending == Ending::silent && is_given_up(*files_, lease_.folder_now_ns());
  const bool gone = taken && (ending == Ending::died || given_up);
  if (!gone) { return {taken, has_ended(ending)}; }
  if (reader.finish(snapshot)) { taken = give(Part::rows); }
  // These it could have ended with, had it lived; if it does, they come again, and in another order.
  reader.release_early(snapshot);
  snapshot.finished = true;
  // It may have said that it ended between the reading and the question whether it is there.
  return {taken && give(reader.ended() ? Part::end : Part::death), true};
}

}  // namespace cli
namespace cli {
namespace {

constexpr std::uint64_t kCells = 30;

/// Of a terminal that can take a line away again.
bool has_bar() {
  const char* const term = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && (term == nullptr || std::string_view(term) != "dumb");
}

std::size_t terminal_columns() {
  winsize size = {};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0 ? size.ws_col : 80;
}

}  // namespace

std::string progress_bar(std::uint64_t done, std::uint64_t whole) {
  const std::uint64_t part = std::min(done, whole);
  const double share = whole == 0 ? 1.0 : static_cast<double>(part) / static_cast<double>(whole);
  const auto full = static_cast<std::size_t>(share * static_cast<double>(kCells));
  return detail::format("[{}{}] {:3.0f} %  {} of {} points", std::string(full, '#'), std::string(kCells - full, '.'),
                        100 * share, detail::human_count(part), detail::human_count(whole));
}

Progress::Progress(std::string label) : label_(std::move(label)), visible_(has_bar()) {}

Progress::~Progress() {
  if (drawn_) { std::fputs("\r\x1b[K", stderr); }
}

void Progress::show(std::uint64_t done, std::uint64_t whole) {
  if (!visible_) { return; }
  drawn_ = true;
  // What is broken into two lines could not be taken away; some terminals break a line that is just full.
  const std::size_t columns = std::max<std::size_t>(terminal_columns(), 2) - 1;
  std::fprintf(stderr, "\r\x1b[K%s", detail::fit(label_ + " " + progress_bar(done, whole), columns).c_str());
}

}  // namespace cli
namespace cli {
namespace {

/// The processes of each run, in the order in which runs were named.
struct RanksByRun {
  std::vector<std::vector<Rank>> runs;
  bool all = true;  // were readable
};

Rank read_with_steps(const RankFolder& folder, std::size_t most_values) {
  const auto steps = std::make_shared<detail::RankSteps>(most_values);
  Rank rank = read_rank(folder, [&](const Snapshot& snapshot) { steps->add(snapshot); });
  rank.kept_steps = steps;
  return rank;
}

RanksByRun read_by_run(const std::vector<std::string>& given) {
  std::vector<std::string> remarks;
  const std::vector<RankFolder> folders = rank_folders(given, remarks);
  for (const std::string& each : remarks) { detail::print(stderr, "takt: {}\n", each); }
  const std::size_t most = detail::values_of_a_rank(folders.size());
  RanksByRun read;
  read.all = are_whole(folders);
  std::map<std::string, std::size_t> places;  // by run id
  for (const RankFolder& folder : folders) {
    Rank rank = read_with_steps(folder, most);
    if (!rank.readable()) {
      detail::print(stderr, "takt: {}\n", why_unreadable(rank));
      read.all = false;
      continue;
    }
    const auto [place, is_new] = places.emplace(rank.snapshot.run.id, read.runs.size());
    if (is_new) { read.runs.emplace_back(); }
    read.runs[place->second].push_back(std::move(rank));
  }
  return read;
}

JobEfficiency efficiency_of(const std::vector<Rank>& ranks) {
  std::vector<detail::RankOfJob> of_job;
  for (const Rank& each : ranks) {
    const RunInfo& run = each.snapshot.run;
    of_job.push_back({{static_cast<std::uint32_t>(run.rank), run.host, ""}, each.kept_steps.get()});
  }
  return detail::efficiency_of(detail::step_times_of(of_job).times);
}

Snapshot sum_of(const std::vector<Rank>& ranks) {
  RankSum sum;
  for (const Rank& each : ranks) { sum.add(each.snapshot); }
  return sum.take();
}

/// Of the Batches with items the one that took longest: training rather than validation.
void take_throughput(const Snapshot& sum, JobRun& run) {
  for (const JobThroughput& each : detail::job_throughputs(sum)) {
    if (each.throughput.items == 0 || each.throughput.period_ns <= run.throughput.period_ns) { continue; }
    run.path = sum.path_name(each.path);
    run.throughput = each.throughput;
  }
  if (run.throughput.items == 0) {
    throw Error(
        detail::format("run {} counts no samples, so that it has no rate to compare; call items(n) on the Batch, "
                       "where n is how many the rank has in a step, and let it take more steps than warm-up",
                       detail::printable(run.id)));
  }
}

JobRun job_run_of(std::vector<Rank> of_run) {
  const PickedRanks last = pick_last(std::move(of_run));
  tell_left_out(last.remarks);
  JobRun run;
  run.id = last.ranks.front().snapshot.run.id;
  run.ranks = last.world;
  run.missing = last.missing();
  take_throughput(sum_of(last.ranks), run);
  run.efficiency = efficiency_of(last.ranks);
  if (run.missing != 0) {
    detail::print(
        stderr,
        "takt: {} of the {} ranks of run {} left no journal: their samples are not counted, so that its rate, "
        "speed-up and efficiency are too low\n",
        run.missing, run.ranks, detail::printable(run.id));
  }
  return run;
}

}  // namespace

JobRuns read_job_runs(const std::vector<std::string>& given) {
  RanksByRun read = read_by_run(given);
  JobRuns runs;
  runs.all = read.all;
  for (std::vector<Rank>& each : read.runs) { runs.runs.push_back(job_run_of(std::move(each))); }
  return runs;
}

}  // namespace cli
TAKT_END_NAMESPACE
