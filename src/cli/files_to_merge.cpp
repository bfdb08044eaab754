// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/files_to_merge.hpp"

#include "base/format.hpp"
#include "base/nanoseconds.hpp"
#include "base/text.hpp"
#include "journal/journal_format.hpp"
#include "report/trace_events.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

#include <sys/stat.h>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

/// A file of Takt's, and what its first bytes have in them.
struct KnownFile {
  std::string_view name;
  std::string_view word;
};

constexpr KnownFile kKnownFiles[] = {
    {"summary.json", "\"takt-summary/"}, {"trace.json", detail::kTraceHead}, {"trace.json.part", detail::kTraceHead},
    {"trials.json", "\"takt-trials/"},   {"results.csv", "name,"},           {"results.json", "\"takt-results/"},
    {"mlflow.json", "\"takt-mlflow/"},   {"wandb.json", "\"takt-wandb/"}};
constexpr KnownFile kSegment = {"", "TAKTJRNL"};
constexpr std::string_view kFrameWord = "tFrm";  // of a segment whose header is damaged
constexpr std::size_t kFirstBytes = 4096;

/// nullptr: none that goes in.
const KnownFile* known_file(const std::string& name) {
  std::uint32_t number = 0;
  if (detail::parse_segment_name(name, number)) { return &kSegment; }
  const auto* const found = std::find_if(std::begin(kKnownFiles), std::end(kKnownFiles),
                                         [&](const KnownFile& each) { return each.name == name; });
  return found == std::end(kKnownFiles) ? nullptr : found;
}

/// Why the file stays out; empty: it goes in. One that is empty, or that nobody may read, is told by who copies it.
std::string why_out(const detail::ReadableFolder& files, const std::string& name, const KnownFile& known,
                    const struct stat& status) {
  if (!S_ISREG(status.st_mode)) { return "is no file"; }
  if (static_cast<std::uint64_t>(status.st_size) > FilesToMerge::kMostBytes) { return "is longer than 1 GiB"; }
  std::string bytes;
  if (!files.read(name, 0, kFirstBytes, bytes) || bytes.empty()) { return ""; }
  const auto has = [&](std::string_view word) { return bytes.find(word) != std::string::npos; };
  return has(known.word) || (&known == &kSegment && has(kFrameWord)) ? "" : "is none of Takt's";
}

}  // namespace

FilesToMerge::FilesToMerge(const RankToMerge& rank) {
  add_from(rank.folder, true);
  for (const RankFolder& each : rank.copies) { add_from(each, false); }
  std::sort(all_.begin(), all_.end(), [](const FileToMerge& a, const FileToMerge& b) { return a.name < b.name; });
}

void FilesToMerge::add_from(const RankFolder& folder, bool with_journal) {
  const std::shared_ptr<const detail::ReadableFolder> files = folder.open();
  for (const std::string& name : files->names()) {
    const KnownFile* const known = known_file(name);
    struct stat status = {};
    if (known == nullptr || (known == &kSegment && !with_journal) || !files->look(name, status)) { continue; }
    const bool is_there = std::any_of(all_.begin(), all_.end(), [&](const FileToMerge& at) { return at.name == name; });
    if (is_there) { continue; }
    if (const std::string why = why_out(*files, name, *known, status); !why.empty()) {
      remarks_.push_back(detail::format("{} {}, and stays out", detail::printable(files->path(name)), why));
      continue;
    }
    all_.push_back({name, files});
    changed_unix_ns_ =
        std::max<std::int64_t>(changed_unix_ns_, status.st_mtim.tv_sec * detail::kSecondNs + status.st_mtim.tv_nsec);
  }
}

}  // namespace cli
TAKT_END_NAMESPACE
