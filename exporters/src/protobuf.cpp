// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "protobuf.hpp"

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

// Kinds of field: how a reader finds its end.
constexpr std::uint32_t kVarint = 0;
constexpr std::uint32_t kSized = 2;

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
