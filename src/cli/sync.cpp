// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/error.hpp>

#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/destinations.hpp"
#include "cli/failure_text.hpp"
#include "cli/progress.hpp"
#include "cli/rank.hpp"
#include "cli/run_folder.hpp"

#include <csignal>
#include <cstdio>
#include <exception>
#include <set>
#include <string>

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
TAKT_END_NAMESPACE
