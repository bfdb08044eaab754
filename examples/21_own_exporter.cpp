// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// A custom Exporter: a display board in the lab that shows the duration of each step, one line per step, and is
// sometimes switched off. The conformance suite tests the Exporter; then a Session uses it.
#include <takt/takt.hpp>
#include <takt/testing/exporter_conformance.hpp>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

/// The board as its vendor ships it.
class Board {
 public:
  /// Posts a line. Returns false while the board is switched off.
  bool post(std::int64_t step, double ms) {
    if (!on_) { return false; }
    lines_.push_back("step " + std::to_string(step) + " took " + std::to_string(ms) + " ms");
    return true;
  }
  void switch_on(bool on) { on_ = on; }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  bool on_ = true;
  std::vector<std::string> lines_;
};

// [snippet: own-exporter]
class BoardExporter final : public takt::Exporter {
 public:
  explicit BoardExporter(Board& board) : board_(board) {}

  const char* name() const noexcept override { return "board"; }
  takt::ExportResult export_snapshot(const takt::Snapshot& snapshot) override {
    for (const takt::Row& row : snapshot.rows) {
      if (row.sequence < next_) { continue; }  // shown again; posted before the board was switched off
      if (!board_.post(row.step, static_cast<double>(row.host_ns) / 1e6)) { return takt::ExportResult::retry; }
      next_ = row.sequence + 1;
    }
    return takt::ExportResult::ok;
  }

 private:
  Board& board_;
  std::uint64_t next_ = 0;  // sequence of the next row
};
// [end]

// [snippet: exporter-driver]
struct Driver {
  std::unique_ptr<takt::Exporter> exporter() {
    board = Board();
    return std::make_unique<BoardExporter>(board);
  }
  bool can_tell() { return true; }
  std::vector<std::int64_t> steps() {
    std::vector<std::int64_t> found;
    for (const std::string& line : board.lines()) { found.push_back(std::stoll(line.substr(5))); }
    return found;
  }
  bool can_fail() { return true; }
  void fail(bool on) { board.switch_on(!on); }

  Board board;
};
// [end]

int main() {
  Driver driver;
  const auto failures = takt::check_exporter_conformance(driver);
  for (const std::string& failure : failures) { std::printf("violated: %s\n", failure.c_str()); }

  Board board;
  takt::Session session("own-exporter");
  // [snippet: add-exporter]
  session.add(BoardExporter(board));
  // [end]
  for (int step = 0; step < 20; ++step) {
    takt::Scope batch(takt::Batch);
    takt::Scope forward(takt::Forward);
  }
  session.close();
  if (!board.lines().empty()) { std::printf("%s\n", board.lines().back().c_str()); }
  return failures.empty() && board.lines().size() == 20 ? 0 : 1;
}
