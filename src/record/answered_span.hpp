// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/detail/node.hpp>
#include <takt/elapsed.hpp>

#include "record/outbox.hpp"

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A span that was asked about on behalf of its thread, which has not taken it in yet.
struct AnsweredSpan {
  const Node* node = nullptr;
  Elapsed result;
  bool warmup = false;
  bool told = false;    ///< its row has it; not asked for again
  bool in_row = false;  ///< `amendment` says in which, and what it gains
  bool traced = false;  ///< `place` says where it lies
  AmendmentRecord amendment;
  DeviceSpanRecord place;
};

}  // namespace detail
TAKT_END_NAMESPACE
