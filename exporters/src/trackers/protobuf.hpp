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

/// CRC-32 of IEEE 802.3, as in zlib and gzip, of `bytes`, going on from that of the bytes before them. Any thread.
std::uint32_t crc32(std::string_view bytes, std::uint32_t before = 0) noexcept;

/// One message in the wire format of protobuf, version 3. A number or text that is zero or empty takes no bytes, as
/// that version has it. Fields stand in the order in which they were added. One thread at a time.
class Protobuf {
 public:
  /// An int32, int64, enum or bool.
  Protobuf& number(std::uint32_t field, std::int64_t value);
  /// \param value valid UTF-8: readers refuse a message with anything else.
  Protobuf& text(std::uint32_t field, std::string_view value);
  /// An empty message is there, too.
  Protobuf& message(std::uint32_t field, const Protobuf& value);
  /// A float or a double. Zero is there, too, as one of a oneof has to be.
  Protobuf& real32(std::uint32_t field, float value);
  Protobuf& real(std::uint32_t field, double value);
  /// Several doubles, packed.
  Protobuf& reals(std::uint32_t field, const std::vector<double>& values);

  const std::string& bytes() const noexcept { return bytes_; }

 private:
  void varint(std::uint64_t value);
  void sized(std::uint32_t field, std::string_view value);
  void fixed(std::uint64_t bits, unsigned bytes);

  std::string bytes_;
};

/// The fields of one message, one after the other, whatever its bytes are. One thread at a time.
class ProtobufFields {
 public:
  /// \param message outlives this.
  explicit ProtobufFields(std::string_view message) : left_(message) {}

  /// Goes to the next one; false where there is none, or no sense in what is left.
  bool next();
  std::uint32_t field() const noexcept { return field_; }
  /// Of a number; else 0.
  std::int64_t number() const noexcept { return number_; }
  /// Of a text or message; else empty.
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
