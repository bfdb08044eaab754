// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "wandb/wandb_output.hpp"

#include "base/fault.hpp"
#include "base/file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>

#include <fcntl.h>
#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr std::uint64_t kOutputPiece = std::uint64_t{1} << 20U;

}  // namespace

void WandbOutput::copy(const FolderFiles& to, std::uint64_t most) {
  if (path_.empty()) { return; }
  const std::uint64_t end = std::min(copied_ + most, kMostBytes);
  while (copied_ < end) {
    const auto piece = static_cast<std::size_t>(std::min(kOutputPiece, end - copied_));
    std::string bytes;
    if (!read_from(path_, copied_, piece, bytes)) {
      if (errno != ENOENT) {
        report_fault_once("wandb.output", explain_fault("read", path_, errno) + " (WandbOptions::output_log)");
      }
      return;
    }
    if (bytes.empty()) { return; }
    Descriptor copy = to.open(kName, O_WRONLY);
    if (!copy.is_open() && errno == ENOENT) { copy = to.create(kName, O_WRONLY); }
    const bool placed = copy.is_open() && ::lseek(copy.number(), static_cast<off_t>(copied_), SEEK_SET) >= 0;
    if (!placed || write_all(copy.number(), bytes) != bytes.size()) {
      return report_fault("wandb.output", explain_fault("write", to.path(kName), errno));
    }
    copied_ += bytes.size();
    if (bytes.size() < piece) { return; }
  }
}

}  // namespace detail
TAKT_END_NAMESPACE
