// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/encoding.hpp"

#include <cstring>

TAKT_BEGIN_NAMESPACE
namespace detail {

void Encoder::varint(std::uint64_t value) {
  char bytes[10];
  std::size_t size = 0;
  for (; value >= 0x80U; value >>= 7U) { bytes[size++] = static_cast<char>(value | 0x80U); }
  bytes[size++] = static_cast<char>(value);
  out_.append(bytes, size);
}

void Encoder::real(double value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  char bytes[sizeof bits];
  store(bytes, bits);
  out_.append(bytes, sizeof bytes);
}

void Encoder::text(std::string_view value) {
  number(value.size());
  out_.append(value);
}

std::uint64_t Decoder::varint() noexcept {
  if (ok_ && !left_.empty() && static_cast<unsigned char>(left_.front()) < 0x80U) {  // most are short
    const auto byte = static_cast<unsigned char>(left_.front());
    left_.remove_prefix(1);
    return byte;
  }
  std::uint64_t value = 0;
  for (unsigned shift = 0; ok_ && shift < 64; shift += 7) {
    if (left_.empty()) { break; }
    const auto byte = static_cast<unsigned char>(left_.front());
    left_.remove_prefix(1);
    if (shift == 63 && byte > 1) { break; }  // beyond 64 bits
    value |= std::uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80U) { return value; }
  }
  ok_ = false;
  return 0;
}

void Decoder::real(double& value) noexcept {
  std::uint64_t bits = 0;
  ok_ = ok_ && left_.size() >= sizeof bits;
  if (!ok_) { return; }
  bits = load<std::uint64_t>(left_.data());
  std::memcpy(&value, &bits, sizeof value);
  left_.remove_prefix(sizeof bits);
}

void Decoder::text(std::string& value) {
  std::string_view found;
  text(found);
  if (ok_) { value = found; }
}

void Decoder::text(std::string_view& value) noexcept {
  std::uint64_t length = 0;
  number(length);
  ok_ = ok_ && length <= left_.size();
  if (!ok_) { return; }
  value = left_.substr(0, length);
  left_.remove_prefix(length);
}

void Decoder::kind(Kind& value) noexcept {
  std::uint32_t number_of_kind = 0;
  number(number_of_kind);
  // A kind that was added later is one that this reader has no word for.
  if (ok_) {
    value = number_of_kind < static_cast<std::uint32_t>(Kind::other) ? static_cast<Kind>(number_of_kind) : Kind::other;
  }
}

}  // namespace detail
TAKT_END_NAMESPACE
