// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include "journal/journal_format.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// Encodes rows, metrics and samples in a journal, many per frame, each as the difference from the one before: at high
// rates they are most of a journal. The bytes are described in docs/journal.md. Not thread-safe.

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Frames of rows. Rows with consecutive numbers share a frame.
class RowBlocks {
 public:
  static constexpr std::size_t kMaxRows = 512;  ///< maximum rows per frame; a damaged frame loses all of them

  /// \param out must outlive this, as must the rows until flush().
  explicit RowBlocks(FrameBuffer& out) noexcept : out_(out) {}
  void add(const Row& row);
  /// Writes all added rows to `out`.
  void flush();

 private:
  FrameBuffer& out_;
  std::vector<const Row*> rows_;
};

/// Adds frames of metrics.
void add_metrics(FrameBuffer& out, const std::vector<Metric>& metrics);

/// Adds frames of samples.
void add_samples(FrameBuffer& out, const std::vector<Sample>& samples);

/// Decodes a frame. Returns false for an invalid payload; the output then holds the items before the error.
TAKT_EXPORT bool read_rows(std::string_view payload, std::vector<Row>& rows);
TAKT_EXPORT bool read_metrics(std::string_view payload, std::vector<Metric>& metrics);
TAKT_EXPORT bool read_samples(std::string_view payload, std::vector<Sample>& samples);

}  // namespace detail
TAKT_END_NAMESPACE
