// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Returns the CRC-32 (IEEE 802.3, as in zlib and gzip) of `bytes`, continuing from the CRC `before`. Any thread.
std::uint32_t crc32(std::string_view bytes, std::uint32_t before = 0) noexcept;

/// One message in the wire format of proto3. Zero numbers and empty texts take no bytes, as proto3 requires. Fields are
/// in the order in which they were added. One thread at a time.
class Protobuf {
 public:
  /// Adds an int32, int64, enum or bool.
  Protobuf& number(std::uint32_t field, std::int64_t value);
  /// \param value valid UTF-8: readers reject a message with anything else.
  Protobuf& text(std::uint32_t field, std::string_view value);
  /// Adds a message, even an empty one.
  Protobuf& message(std::uint32_t field, const Protobuf& value);
  /// Adds a float or double, even zero, as members of a oneof require.
  Protobuf& real32(std::uint32_t field, float value);
  Protobuf& real(std::uint32_t field, double value);
  /// Adds several doubles, packed.
  Protobuf& reals(std::uint32_t field, const std::vector<double>& values);

  const std::string& bytes() const noexcept { return bytes_; }

 private:
  void varint(std::uint64_t value);
  void sized(std::uint32_t field, std::string_view value);
  void fixed(std::uint64_t bits, unsigned bytes);

  std::string bytes_;
};

/// Iterates over the fields of one message, which may have any bytes. One thread at a time.
class ProtobufFields {
 public:
  /// \param message must outlive this object.
  explicit ProtobufFields(std::string_view message) : left_(message) {}

  /// Moves to the next field. Returns false at the end, or if the rest is invalid.
  bool next();
  std::uint32_t field() const noexcept { return field_; }
  /// Returns the value of a number; else 0.
  std::int64_t number() const noexcept { return number_; }
  /// Returns the bytes of a text or message; else empty.
  std::string_view bytes() const noexcept { return bytes_; }

 private:
  bool varint(std::uint64_t& value);

  std::string_view left_;
  std::uint32_t field_ = 0;
  std::int64_t number_ = 0;
  std::string_view bytes_;
};

}  // namespace detail
TAKT_END_NAMESPACE
