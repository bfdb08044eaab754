// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/error.hpp>
#include <takt/exporters/tensorboard.hpp>

#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/rank.hpp"
#include "cli/run_folder.hpp"
#include "journal/journal_reader.hpp"
#include "tensorboard/tensorboard_run.hpp"
#include "trackers/file_lease.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <memory>

#include <sys/stat.h>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

// TensorBoard reads every file that has "tfevents" in its name.
constexpr const char* kUnderWay = "takt-sync.part";

/// What came of one folder.
struct EventsSaid {
  int status;
  std::string words;
};

std::uint64_t size_of(const detail::FolderFiles& folder, const std::string& name) {
  struct stat status = {};
  return folder.look(name, status) && S_ISREG(status.st_mode) ? static_cast<std::uint64_t>(status.st_size) : 0;
}

/// Shows all of the journal to `events`. Returns how the run stands. `written`: whether all of it was taken.
Ending show_journal(const std::string& folder, detail::TensorboardRun& events, detail::FileLease& lease,
                    bool& written) {
  written = true;
  const auto take = [&](const Snapshot& each) { written = written && lease.refresh() && events.take(each); };
  Rank rank = read_rank(folder, take);
  const bool is_silent = rank.ending == Ending::silent && is_given_up(folder);
  if (rank.ending == Ending::died || is_silent) {
    rank.snapshot.finished = true;
    take(rank.snapshot);
    return Ending::died;
  }
  return rank.ending;
}

/// All of the journal as a new file, which takes the place of the one that may be there.
EventsSaid write_events(const std::string& folder, const std::shared_ptr<const detail::FolderFiles>& target,
                        const RunInfo& run, bool every_step, detail::FileLease& lease) {
  const std::string name = detail::tensorboard_file(run, every_step);
  detail::TensorboardRun events(every_step);
  target->remove(kUnderWay);  // of a process that was killed
  if (!events.create(target, kUnderWay, run)) {
    throw Error(detail::tensorboard_fault("make", target->path(kUnderWay), errno));
  }
  bool written = false;
  const Ending ending = show_journal(folder, events, lease, written);
  const bool ended = has_ended(ending) || ending == Ending::died;
  const std::string path = target->path(name);
  const std::uint64_t before = size_of(*target, name);
  const bool whole = written && events.sync();
  // The same values take the same bytes. Who reads the file that is there would not notice that another one took its
  // place.
  const bool is_more = whole && events.bytes() > before;
  const bool placed = is_more && target->rename(kUnderWay, name);
  const int why = errno;
  if (!placed) { target->remove(kUnderWay); }
  if (!lease.held()) { return {kRemains, lease.problem()}; }
  if (!whole || (is_more && !placed)) { throw Error(detail::tensorboard_fault("write", path, why)); }
  if (events.bytes() < before) {
    return {kLossy, path + " has more than the journal, and stays as it is; remove it to have what the journal has"};
  }
  const std::string values = fmt::format("{} values are in {}", detail::human_count(events.values()), path);
  return ended ? EventsSaid{0, values} : EventsSaid{kRemains, values + " so far; the run goes on"};
}

EventsSaid sync_events(const std::string& folder, const TensorboardOptions& options) {
  const auto files = std::make_shared<detail::FolderFiles>(folder);
  Snapshot first;
  if (!detail::JournalReader(files).read_part(first)) { return {kBroken, why_unreadable(read_rank(folder))}; }
  RunInfo run = first.run;
  run.directory = folder;  // it may have been moved
  if (run.rank != 0 && !options.all_ranks) { return {0, "rank 0 speaks for the run (--all-ranks changes that)"}; }
  detail::FileLease lease;
  if (!lease.take(files, detail::kTensorboardLease)) {
    if (lease.is_broken()) { throw Error(lease.problem()); }
    return {kRemains, lease.problem()};
  }
  const detail::LeaseReturn back(lease);
  std::string error;
  const auto target = detail::tensorboard_folder(options.directory, run, *files, error);
  if (!error.empty()) { throw Error(error); }
  // As the file was begun, if it was.
  bool every_step = options.every_step;
  for (const bool each : {false, true}) {
    if (target->may_exist(detail::tensorboard_file(run, each))) { every_step = each; }
  }
  return write_events(folder, target, run, every_step, lease);
}

/// Returns the status.
int sync_one(const std::string& folder, const TensorboardOptions& options) {
  const std::string name = detail::printable(folder) + ": ";
  const auto print = [&](std::FILE* where, const std::string& words) {
    std::fputs((name + detail::printable(words) + "\n").c_str(), where);
  };
  try {
    const EventsSaid said = sync_events(folder, options);
    print(said.status == 0 ? stdout : stderr, said.words);
    return said.status == 0 && tell_lost(folder, name) ? kLossy : said.status;
  } catch (const std::exception& error) {
    print(stderr, error.what());
    return kBroken;
  }
}

}  // namespace

int sync_to_tensorboard(const std::vector<std::string>& runs, const SyncWishes& wishes) {
  TensorboardOptions options = TensorboardOptions::from_env();
  options.every_step = wishes.every_step;
  options.all_ranks = options.all_ranks || wishes.all_ranks;
  return for_rank_folders(runs, [&](const std::string& folder) { return sync_one(folder, options); });
}

}  // namespace cli
TAKT_END_NAMESPACE
