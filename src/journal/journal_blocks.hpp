// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include "journal/journal_format.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// Rows, metrics and samples in a journal, many in a frame, each spelled by what differs from the one before: at a high
// rate they are nearly all that a journal holds. Byte by byte in docs/journal.md. One thread at a time.

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Frames of rows. Rows whose numbers follow each other share a frame.
class RowBlocks {
 public:
  static constexpr std::size_t kMaxRows = 512;  ///< in a frame: so many are lost with it

  /// \param out outlives it, as do the rows until flush().
  explicit RowBlocks(FrameBuffer& out) noexcept : out_(out) {}
  void add(const Row& row);
  /// What has been added is in `out`.
  void flush();

 private:
  FrameBuffer& out_;
  std::vector<const Row*> rows_;
};

/// Frames of metrics, likewise.
void add_metrics(FrameBuffer& out, const std::vector<Metric>& metrics);

/// Frames of samples, likewise.
void add_samples(FrameBuffer& out, const std::vector<Sample>& samples);

/// What a frame of rows says. False for a payload that makes no sense; `rows` then holds what came before that.
TAKT_EXPORT bool read_rows(std::string_view payload, std::vector<Row>& rows);
TAKT_EXPORT bool read_metrics(std::string_view payload, std::vector<Metric>& metrics);
TAKT_EXPORT bool read_samples(std::string_view payload, std::vector<Sample>& samples);

}  // namespace detail
TAKT_END_NAMESPACE
