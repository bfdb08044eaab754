// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/fault.hpp"
#include "http/http.hpp"
#include "mlflow/mlflow_cursor.hpp"
#include "mlflow/mlflow_messages.hpp"
#include "trackers/cursor_file.hpp"

#include <string>
#include <string_view>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What the lines on stderr about one run at MLflow have in common: no secrets, and the command that sends later. One
/// thread at a time.
class MlflowLines {
 public:
  /// Neither is owned.
  MlflowLines(const Http& http, const CursorFile& cursor) noexcept : http_(http), cursor_(cursor) {}

  void report(std::string_view cause, const std::string& line) const {
    report_fault(cause, http_.without_secrets(line));
  }
  /// What the server said, for people.
  std::string told(const HttpReply& reply) const { return mlflow_told(reply, http_); }
  /// The URL of the server, without credentials.
  const std::string& server() const noexcept { return http_.url(); }
  /// REQUIRES: a cursor is kept.
  std::string cursor_file() const { return cursor_.path(); }

  /// What sends to MLflow, later.
  std::string sync_command() const { return kMlflow.sync + (cursor_.is_kept() ? " " + cursor_.directory() : ""); }
  /// The end of a line that says what it does; empty where there will be nothing that it could send.
  std::string with_sync(const char* before, const char* behind) const {
    return cursor_.is_kept() ? before + sync_command() + behind : "";
  }

 private:
  const Http& http_;
  const CursorFile& cursor_;
};

}  // namespace detail
TAKT_END_NAMESPACE
