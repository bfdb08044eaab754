// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "trackers/protobuf.hpp"

#include <array>
#include <cstring>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr std::uint32_t kPolynomial = 0xEDB88320U;  // bits reversed

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) { crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? kPolynomial : 0U); }
    table[byte] = crc;
  }
  return table;
}

constexpr std::array<std::uint32_t, 256> kTable = make_table();

}  // namespace

std::uint32_t crc32(std::string_view bytes, std::uint32_t before) noexcept {
  std::uint32_t crc = ~before;
  for (const char each : bytes) { crc = (crc >> 8U) ^ kTable[(crc ^ static_cast<unsigned char>(each)) & 0xFFU]; }
  return ~crc;
}

namespace {

// Wire types.
constexpr std::uint32_t kVarint = 0;
constexpr std::uint32_t kFixed64 = 1;
constexpr std::uint32_t kSized = 2;
constexpr std::uint32_t kFixed32 = 5;

template <class Bits, class Real>
Bits bits_of(Real value) {
  static_assert(sizeof(Bits) == sizeof value);
  Bits bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

}  // namespace

void Protobuf::varint(std::uint64_t value) {
  for (; value >= 0x80U; value >>= 7U) { bytes_ += static_cast<char>(value | 0x80U); }
  bytes_ += static_cast<char>(value);
}

void Protobuf::sized(std::uint32_t field, std::string_view value) {
  varint((field << 3U) | kSized);
  varint(value.size());
  bytes_ += value;
}

Protobuf& Protobuf::number(std::uint32_t field, std::int64_t value) {
  if (value != 0) {
    varint((field << 3U) | kVarint);
    varint(static_cast<std::uint64_t>(value));
  }
  return *this;
}

Protobuf& Protobuf::text(std::uint32_t field, std::string_view value) {
  if (!value.empty()) { sized(field, value); }
  return *this;
}

Protobuf& Protobuf::message(std::uint32_t field, const Protobuf& value) {
  sized(field, value.bytes());
  return *this;
}

/// Appends the low `bytes` bytes, in little-endian order.
void Protobuf::fixed(std::uint64_t bits, unsigned bytes) {
  for (unsigned at = 0; at < bytes; ++at) { bytes_ += static_cast<char>((bits >> (8U * at)) & 0xFFU); }
}

Protobuf& Protobuf::real32(std::uint32_t field, float value) {
  varint((field << 3U) | kFixed32);
  fixed(bits_of<std::uint32_t>(value), sizeof value);
  return *this;
}

Protobuf& Protobuf::real(std::uint32_t field, double value) {
  varint((field << 3U) | kFixed64);
  fixed(bits_of<std::uint64_t>(value), sizeof value);
  return *this;
}

Protobuf& Protobuf::reals(std::uint32_t field, const std::vector<double>& values) {
  varint((field << 3U) | kSized);
  varint(values.size() * sizeof(double));
  for (const double value : values) { fixed(bits_of<std::uint64_t>(value), sizeof value); }
  return *this;
}

bool ProtobufFields::varint(std::uint64_t& value) {
  value = 0;
  for (unsigned shift = 0; shift < 64 && !left_.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(left_.front());
    left_.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
    if (byte < 0x80U) { return true; }
  }
  return false;
}

bool ProtobufFields::next() {
  std::uint64_t tag = 0;
  std::uint64_t value = 0;
  number_ = 0;
  bytes_ = {};
  if (!varint(tag) || !varint(value)) { return false; }
  field_ = static_cast<std::uint32_t>(tag >> 3U);
  if ((tag & 7U) == kVarint) {
    number_ = static_cast<std::int64_t>(value);
    return true;
  }
  if ((tag & 7U) != kSized || value > left_.size()) { return false; }
  bytes_ = left_.substr(0, value);
  left_.remove_prefix(value);
  return true;
}

}  // namespace detail
TAKT_END_NAMESPACE
