// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Reads a transaction log of W&B, also while it grows: WandbLog's other half. One thread at a time.
class WandbLogReader {
 public:
  enum class Found {
    record,
    nothing,  ///< whole, yet or for ever
    damage    ///< what is there is no such log, or cannot be read: problem() says why
  };

  /// Appends what is in the file from a number of bytes on, at most so many of them; false with errno.
  using Source = std::function<bool(std::uint64_t, std::size_t, std::string&)>;

  explicit WandbLogReader(std::string path);
  /// \param path for people.
  WandbLogReader(std::string path, Source source) : path_(std::move(path)), source_(std::move(source)) {}

  /// The next whole record.
  Found next(std::string& record);
  /// In the file, of the end of the last record: where another one may be appended once nobody else does.
  std::uint64_t position() const noexcept { return position_; }
  const std::string& problem() const noexcept { return problem_; }

 private:
  bool has(std::size_t bytes);
  Found damaged(const char* what);

  std::string path_;
  Source source_;
  std::string problem_;
  std::string bytes_;        // of the file, from begin_ on
  std::uint64_t begin_ = 0;  // of a block
  std::uint64_t position_ = 0;
};

}  // namespace detail
TAKT_END_NAMESPACE
