// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include "archive/few_remarks.hpp"
#include "archive/tar_entry.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Goes through the entries of a tar file, from header to header, and reads none of what is in them. Whatever is in the
/// file, it comes to an end, stays inside its memory, and says what it passed over. One thread at a time.
class TarReader {
 public:
  /// \param descriptor of a regular file, which outlives this.
  explicit TarReader(int descriptor);

  /// The next entry that is a file or a folder, and where its bytes begin. Of one that is cut off, `bytes` are those
  /// that are there. False: there is none.
  bool next(TarEntry& entry, std::uint64_t& begin);

  /// What is wrong with the file.
  const FewRemarks& remarks() const noexcept { return remarks_; }

 private:
  bool read_block(std::uint64_t at);
  bool at_end();
  void pass_over_damage();
  void read_extension(const TarEntry& header);
  void step_over(TarEntry& entry);

  int descriptor_;
  std::uint64_t file_bytes_ = 0;
  std::uint64_t at_ = 0;  // of the next header
  std::string buffer_;
  std::uint64_t buffer_at_ = 0;
  std::string_view block_;
  std::string extension_;  // for the next entry
  FewRemarks remarks_;
};

}  // namespace detail
TAKT_END_NAMESPACE
