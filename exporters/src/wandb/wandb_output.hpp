// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include "base/folder_files.hpp"

#include <cstdint>
#include <string>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// The output of a program, copied while it grows into the folder of its run at W&B: a program that is killed has it
/// there, too. One thread at a time.
class WandbOutput {
 public:
  static constexpr const char* kName = "output.log";
  static constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20U;  ///< that are copied, the first ones

  /// \param path of a regular file that is no link; empty: there is none. It need not be there yet.
  explicit WandbOutput(std::string path) : path_(std::move(path)) {}

  /// Copies what is new, at most `most` bytes of it. A fault is reported, and tried again.
  void copy(const FolderFiles& to, std::uint64_t most);

 private:
  std::string path_;
  std::uint64_t copied_ = 0;
};

}  // namespace detail
TAKT_END_NAMESPACE
