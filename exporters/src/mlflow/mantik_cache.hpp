// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include "mlflow/mantik_tokens.hpp"
#include "trackers/file_lease.hpp"

#include <chrono>
#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// The file in which a user's processes share their tokens, Mantik's Python client being one of them. It is Mantik's,
/// so that Takt writes there what that client does, but 0600 and whole at once. What cannot be used is told of once.
/// One thread at a time.
class MantikCache {
 public:
  /// \param file empty: nothing is shared.
  /// \param username whose tokens are wanted.
  /// \param patience for another process that asks for tokens.
  MantikCache(std::string file, std::string username, std::chrono::milliseconds patience);
  ~MantikCache() { unlock(); }
  MantikCache(const MantikCache&) = delete;
  MantikCache& operator=(const MantikCache&) = delete;

  /// False where there are none, or none for this user.
  bool read(MantikTokens& tokens);
  /// Nobody else that asks first is asking for tokens now, or has been for longer than one can wait.
  bool lock();
  void unlock() noexcept;
  void write(const MantikTokens& tokens);

 private:
  using Time = std::chrono::steady_clock::time_point;

  bool refuse(const std::string& why);
  bool prepare_folder();

  std::string file_;
  std::string username_;
  std::chrono::milliseconds patience_;
  bool foreign_ = false;  // somebody else's, and so not to be written over
  bool has_folder_ = false;
  FileLease lease_;
  Time patient_until_{};
};

}  // namespace detail
TAKT_END_NAMESPACE
