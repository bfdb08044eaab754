// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Which devices of a machine a process may use, as a variable such as CUDA_VISIBLE_DEVICES lists them. A value.
struct VisibleDevices {
  bool all = true;  ///< the variable is not set
  std::vector<std::string> entries;

  /// \param value of the variable; nullptr: it is not set. Behind 64 entries the rest is passed over.
  static VisibleDevices of(const char* value);
  /// Whether an entry is a number, which counts devices in an order of its own.
  bool has_numbers() const noexcept;
};

/// The index that an entry is; false: it is none.
bool parse_device_index(std::string_view entry, std::size_t& index) noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
