// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstdint>
#include <string>
#include <string_view>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// One message in the wire format of protobuf, version 3. A number or text that is zero or empty takes no bytes, as that
/// version has it. Fields stand in the order in which they were added. One thread at a time.
class Protobuf {
 public:
  /// An int32, int64, enum or bool.
  Protobuf& number(std::uint32_t field, std::int64_t value);
  /// \param value valid UTF-8: readers refuse a message with anything else.
  Protobuf& text(std::uint32_t field, std::string_view value);
  /// An empty message is there, too.
  Protobuf& message(std::uint32_t field, const Protobuf& value);

  const std::string& bytes() const noexcept { return bytes_; }

 private:
  void varint(std::uint64_t value);
  void sized(std::uint32_t field, std::string_view value);

  std::string bytes_;
};

}  // namespace detail
TAKT_END_NAMESPACE
