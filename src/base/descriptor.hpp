// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <string>

#include <sys/stat.h>
#include <sys/types.h>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A file that Takt holds open. The program may close it behind Takt's back, and get its number for a file of its own:
/// that one is neither written to nor closed from here. Never 0, 1 or 2: where these were closed, what the program
/// prints would go into the file. One thread at a time. Exported for the exporters that are libraries of their own.
class TAKT_EXPORT Descriptor {
 public:
  Descriptor() = default;
  /// Takes what was opened just now; -1: nothing was. errno stays, or says why there is no other number for it.
  explicit Descriptor(int opened) noexcept;
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;

  /// Whether there was a file, and it was not closed from here.
  bool is_open() const noexcept { return number_ >= 0; }
  /// Whether the number is that file's still.
  bool is_ours() const noexcept;
  /// The same, and how the file stands.
  bool look(struct stat& status) const noexcept;
  bool is_file_of(const struct stat& status) const noexcept;
  /// Of the file, after it was closed as well.
  bool is_same(const Descriptor& other) const noexcept;
  int number() const noexcept { return number_; }

  void close() noexcept;
  /// Somebody else closes it.
  void forget() noexcept { number_ = -1; }
  /// The same file once more; not open where that cannot be done.
  Descriptor copy() const noexcept;

 private:
  int number_ = -1;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

/// A descriptor that was made just now, under a number above 2; -1, with errno, where there is none.
TAKT_EXPORT int above_standard_streams(int made) noexcept;

/// Whether `number`, of a standard stream, was closed when the program began, and is that of a file by now which is not
/// opened for appending: data of the program's own, which got the number by chance. Any thread, and in signal handlers.
TAKT_EXPORT bool is_file_by_chance(int number) noexcept;

/// Says once that the program has closed files of Takt's.
TAKT_EXPORT void report_closed_file(const std::string& path) noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
