// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <optional>
#include <string>
#include <vector>

#include <takt/detail/macros_begin.hpp>

TAKT_BEGIN_NAMESPACE

/// A figure that a Finding rests on.
struct Evidence {
  std::string name;  ///< stable identifier such as "mean_excess"
  double value = 0;  ///< finite
  std::string unit;  ///< "ns", "steps", "windows"; empty: a number of its own, such as a share from 0 to 1
};

/// What something costs, in ns of the time that people wait: what is gained where it is mended.
struct Cost {
  double ns = 0;
  double low_ns = 0;  ///< 95 % interval; both ends are `ns` where that was measured, and not estimated
  double high_ns = 0;
  double share = 0;  ///< of the time of the whole, 0 to 1
};

/// What a report concludes: a sentence for people, the figures behind it, and what it costs where that is known. A
/// value; safe to keep.
struct Finding {
  std::string what;      ///< stable identifier such as "slow_rank"
  std::string sentence;  ///< one line of printable text
  std::vector<Evidence> evidence;
  std::optional<Cost> cost;
  std::string where = {};  ///< the region that it is about, as Snapshot::path_name(), or its key; empty: none
};

/// What a report does not conclude, because the figures do not carry it. A value; safe to keep.
struct Abstention {
  std::string what;  ///< the Finding that it would be
  std::string why;   ///< what the figures lack, as one line of printable text
};

TAKT_END_NAMESPACE

#include <takt/detail/macros_end.hpp>
