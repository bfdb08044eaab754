// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include "trackers/growing_file.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

TAKT_BEGIN_NAMESPACE
namespace detail {

constexpr std::size_t kWandbBlock = 32768;
constexpr std::size_t kWandbChunkHead = 7;  ///< CRC, length, kind

/// Appends `record` to `log` as a transaction log of W&B has it: in chunks that do not cross the end of a block.
/// \param position in the file, of the end of `log`. Any thread.
void append_wandb_record(std::string& log, std::uint64_t position, std::string_view record);
/// What such a file begins with; it counts as part of the first block. Any thread.
std::string_view wandb_log_header() noexcept;

/// A transaction log under way: a file of whole records. One thread at a time.
class WandbLog : public GrowingFile {
 public:
  /// Makes the file (0600), which must not exist. Returns false, with errno, where that cannot be done.
  bool create(const std::string& path);
  bool create(std::shared_ptr<const FolderFiles> folder, const std::string& name);
  void append(std::string_view record);
};

}  // namespace detail
TAKT_END_NAMESPACE
