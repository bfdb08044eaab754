// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <stdexcept>
#include <string>

TAKT_BEGIN_NAMESPACE

/// Error of a set-up call, such as making a Session or adding an exporter. Never thrown while recording. what() says
/// what to do.
class TAKT_EXPORT Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  ~Error() override;
};

/// Receives run-time errors: one line per cause and five minutes. The default prints "takt: <line>" on stderr. Called
/// on the thread that finds the error, never by a Scope. Must not throw.
using ErrorHandler = void (*)(const char* line, void* context);

/// Replaces the handler of the process; nullptr restores the default. Any thread.
TAKT_EXPORT void set_error_handler(ErrorHandler handler, void* context = nullptr) noexcept;

TAKT_END_NAMESPACE
