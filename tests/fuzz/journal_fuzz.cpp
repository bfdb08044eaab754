// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Uses any bytes as the segments of a journal. The input is a list of records: a byte that selects the use of the data
// up to the next newline. Uses are: raw bytes, an intact frame with the data as its payload, a header, a real journal
// cut off or with bytes changed, the next segment. Builds with libFuzzer or with standalone_main.cpp.
#include "journal/journal_reader.hpp"
#include "journal/journal_writer.hpp"

#include "support/scratch.hpp"
#include "support/snapshot_builder.hpp"

#include <takt/exporters/json.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

using namespace takt;
using namespace takt::detail;

namespace {

void require(bool holds, const char* what) {
  if (holds) { return; }
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

/// Checks that every index is valid and that walking up the tree ends.
void check(const Snapshot& snapshot) {
  for (std::uint32_t path = 0; path < snapshot.paths.size(); ++path) {
    const std::uint32_t parent = snapshot.paths[path].parent;
    require(parent == takt::kNoIndex || parent < path, "parents stand before their children");
    require(snapshot.paths[path].depth < 128, "walking up comes to an end soon");
  }
  for (const Series& series : snapshot.series) {
    require(series.path < snapshot.paths.size() && series.thread < snapshot.threads.size(), "series lead somewhere");
  }
  for (const OpenRegion& open : snapshot.open) {
    require(open.path < snapshot.paths.size() && open.thread < snapshot.threads.size(), "open regions lead somewhere");
  }
  for (const Row& row : snapshot.rows) {
    require(row.series < snapshot.series.size(), "rows lead somewhere");
    for (const Cell& cell : row.cells) {
      require(cell.path == takt::kNoIndex || cell.path < snapshot.paths.size(), "cells lead somewhere");
    }
  }
  if (snapshot.paths.size() < 100 && snapshot.series.size() < 100) { format_json(snapshot); }
}

std::string real_journal() {
  const Snapshot snapshot = takt_test::sample_snapshot();
  FrameBuffer frames(0);
  frames.add_header(SegmentHeader());
  JournalChanges().add_state(frames, snapshot);
  return frames.bytes();
}

std::string framed(std::uint16_t type, std::uint64_t sequence, std::string_view payload) {
  FrameBuffer frames(sequence);
  frames.add_raw(type, payload);
  return frames.bytes();
}

/// Returns the bytes that one record adds to the current segment.
std::string made_of(unsigned char what, std::string_view rest) {
  static const std::string real = real_journal();
  const std::size_t number = rest.empty() ? 0 : static_cast<unsigned char>(rest.front());
  if (what < 160) { return framed(static_cast<std::uint16_t>(what % 20), number, rest); }
  if (what < 190) { return std::string(rest); }
  if (what < 200) { return real.substr(0, kSegmentHeaderBytes); }
  std::string changed = real.substr(0, real.size() - number);
  for (std::size_t at = 0; at < rest.size(); ++at) { changed[(at + 1) * 97 % changed.size()] ^= rest[at]; }
  return changed;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const takt_test::Scratch scratch;
  JournalReader reader(scratch.path(""));
  Snapshot snapshot;
  std::string_view input(reinterpret_cast<const char*>(data), size);
  std::string segment;
  std::uint32_t number = 0;
  while (!input.empty()) {
    const std::string_view record = input.substr(0, input.find('\n'));
    input.remove_prefix(record.size() < input.size() ? record.size() + 1 : input.size());
    if (record.empty()) { continue; }
    const auto what = static_cast<unsigned char>(record.front());
    segment += made_of(what, record.substr(1));
    if (what % 5 != 0) { continue; }
    takt_test::write_text(scratch.path(segment_name(number)), segment);
    if (reader.read(snapshot)) { check(snapshot); }
    if (what % 10 == 0) {
      segment.clear();
      ++number;
    }
  }
  takt_test::write_text(scratch.path(segment_name(number)), segment);
  if (reader.finish(snapshot)) { check(snapshot); }
  if (reader.release_early(snapshot)) { check(snapshot); }
  require(!reader.finish(snapshot), "after the end there is nothing new");
  return 0;
}
