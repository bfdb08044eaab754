// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "journal/journal_rows.hpp"

#include "journal/journal_blocks.hpp"
#include "journal/journal_records.hpp"

#include <algorithm>
#include <map>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

RowAmendment amendment_of(const Row& row, bool settled) {
  RowAmendment amendment;
  amendment.early = row.early;
  amendment.settled = settled;
  amendment.sequence = row.sequence;
  amendment.complete = row.complete;
  for (std::size_t place = 0; place < row.cells.size(); ++place) {
    const Cell& cell = row.cells[place];
    if (cell.device_ns == Cell::kAbsent) { continue; }
    amendment.cells.push_back({static_cast<std::uint32_t>(place), cell.path, cell.device_ns});
  }
  return amendment;
}

}  // namespace

std::size_t JournalRows::owed(const Snapshot& snapshot) const {
  return static_cast<std::size_t>(
      std::count_if(snapshot.rows.begin(), snapshot.rows.end(), [this](const Row& row) { return has(row); }));
}

void JournalRows::add(FrameBuffer& out, const Snapshot& snapshot, bool thin) {
  begun_.clear();
  settled_.clear();
  RowBlocks blocks(out);
  for (const Row& row : snapshot.rows) {
    if (has(row)) {
      blocks.flush();  // rows are read in the order of their numbers
      out.add(FrameType::amendment, amendment_of(row, true));
    } else if (!thin) {
      blocks.add(row);
    }
    if (row.early != 0) { settled_.push_back(row.early); }
  }
  blocks.flush();
  add_early(out, snapshot, thin);
}

/// One that was not taken at once may be there several times, and settled by now.
void JournalRows::add_early(FrameBuffer& out, const Snapshot& snapshot, bool thin) {
  std::map<std::uint64_t, const Row*> newest;
  for (const Row& row : snapshot.early) { newest[row.early] = &row; }
  for (const std::uint64_t each : settled_) { newest.erase(each); }
  for (const auto& [number, row] : newest) {
    if (has(*row)) {
      out.add(FrameType::amendment, amendment_of(*row, false));
    } else if (!thin) {
      out.add(FrameType::early, EarlyRecord{*row});
      begun_.insert(number);
    }
  }
  early_.reserve(early_.size() + begun_.size());
}

void JournalRows::written() noexcept {
  early_.merge(begun_);
  for (const std::uint64_t each : settled_) { early_.erase(each); }
}

}  // namespace detail
TAKT_END_NAMESPACE
