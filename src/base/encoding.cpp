// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/encoding.hpp"

#include <array>
#include <cstddef>
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
  // A kind that a later version added is read as `other`.
  if (ok_) {
    value = number_of_kind < static_cast<std::uint32_t>(Kind::other) ? static_cast<Kind>(number_of_kind) : Kind::other;
  }
}

namespace {

constexpr std::uint32_t kPolynomial = 0x82F63B78U;  // bits reversed
constexpr std::size_t kSlices = 8;

using Tables = std::array<std::array<std::uint32_t, 256>, kSlices>;

constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) { crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? kPolynomial : 0U); }
    tables[0][byte] = crc;
  }
  for (std::size_t slice = 1; slice < kSlices; ++slice) {
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[slice - 1][byte];
      tables[slice][byte] = (before >> 8U) ^ tables[0][before & 0xFFU];
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

std::uint32_t byte_at(std::string_view bytes, std::size_t at) { return static_cast<unsigned char>(bytes[at]); }

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t crc32c_sse42(std::string_view bytes, std::uint32_t before) noexcept {
  std::uint64_t crc = ~before;
  std::size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    crc = __builtin_ia32_crc32di(crc, word);
  }
  auto narrow = static_cast<std::uint32_t>(crc);
  for (; at < bytes.size(); ++at) {
    narrow = __builtin_ia32_crc32qi(narrow, static_cast<unsigned char>(byte_at(bytes, at)));
  }
  return ~narrow;
}
#endif

}  // namespace

std::uint32_t crc32c_portable(std::string_view bytes, std::uint32_t before) noexcept {
  std::uint32_t crc = ~before;
  std::size_t at = 0;
  for (; at + kSlices <= bytes.size(); at += kSlices) {
    std::uint32_t next = 0;
    for (std::size_t byte = 0; byte < kSlices; ++byte) {
      const std::uint32_t mixed = byte_at(bytes, at + byte) ^ (byte < 4 ? (crc >> (8U * byte)) & 0xFFU : 0U);
      next ^= kTables[kSlices - 1 - byte][mixed];
    }
    crc = next;
  }
  for (; at < bytes.size(); ++at) { crc = (crc >> 8U) ^ kTables[0][(crc ^ byte_at(bytes, at)) & 0xFFU]; }
  return ~crc;
}

std::uint32_t crc32c(std::string_view bytes, std::uint32_t before) noexcept {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2") != 0) { return crc32c_sse42(bytes, before); }
#endif
  return crc32c_portable(bytes, before);
}

}  // namespace detail
TAKT_END_NAMESPACE
