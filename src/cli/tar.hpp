// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Lines about something of which there may be more than anybody reads: the first ones, and how many there were. A
/// value; one thread at a time.
class FewRemarks {
 public:
  static constexpr std::size_t kMost = 16;

  void add(std::string line) {
    if (first_.size() < kMost) { first_.push_back(std::move(line)); }
    ++count_;
  }
  bool empty() const noexcept { return count_ == 0; }
  /// The first ones, and a last one that counts the others.
  std::vector<std::string> lines(const std::string& about) const {
    std::vector<std::string> all;
    for (const std::string& each : first_) { all.push_back(about + ": " + each); }
    if (count_ > kMost) { all.push_back(about + ": " + std::to_string(count_ - kMost) + " more of this kind"); }
    return all;
  }

 private:
  std::vector<std::string> first_;
  std::uint64_t count_ = 0;
};

// The format of tar as POSIX has it (ustar, with extended headers of pax): blocks of 512 bytes. All: any thread.

constexpr std::size_t kTarBlock = 512;
/// Two of zeros stand behind the last entry.
constexpr std::size_t kTarEndBytes = 2 * kTarBlock;

/// What a header says of what stands behind it.
struct TarEntry {
  enum class Kind {
    file,
    folder,
    extension,  ///< an extended header, which is about the next entry
    defaults,   ///< one that is about all of them
    other,      ///< a link, a device, a pipe
  };

  std::string path;  ///< of a folder read from a file with the slash that it may end with, else without
  Kind kind = Kind::file;
  std::uint64_t bytes = 0;
  std::int64_t changed_unix_ns = 0;
};

/// How many bytes of whole blocks so many take. REQUIRES: below 2^63.
constexpr std::uint64_t tar_blocks(std::uint64_t bytes) noexcept {
  return (bytes + kTarBlock - 1) / kTarBlock * kTarBlock;
}

/// What stands in front of a file or folder: a header, and before that an extended one where names are long or times
/// are finer than seconds.
std::string tar_header(const TarEntry& entry);

/// Reads a header. Returns whether these are one, undamaged. REQUIRES: kTarBlock bytes.
bool parse_tar_header(std::string_view block, TarEntry& entry);

/// Puts into `entry` what an extended header says. Returns whether it can be read to its end.
bool parse_tar_extension(std::string_view records, TarEntry& entry);

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
