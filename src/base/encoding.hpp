// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>
#include <takt/key.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

// Encodes values for files and for other processes. All encodings are little-endian.

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Writes `value` at `at`, lowest byte first. Any thread.
template <class T>
void store(char* at, T value) noexcept {
  for (std::size_t byte = 0; byte < sizeof(T); ++byte) { at[byte] = static_cast<char>(value >> (8U * byte)); }
}

/// Reads a value that store() wrote. Any thread.
template <class T>
T load(const char* at) noexcept {
  std::uint64_t value = 0;
  for (std::size_t byte = 0; byte < sizeof(T); ++byte) {
    value |= std::uint64_t{static_cast<unsigned char>(at[byte])} << (8U * byte);
  }
  return static_cast<T>(value);
}

/// Encodes values into bytes.
class Encoder {
 public:
  explicit Encoder(std::string& out) : out_(out) {}

  /// Encodes an integer. Unsigned: 7 bits a byte, lowest first, with the top bit set if more follow. Signed: zigzag,
  /// sign in the lowest bit.
  template <class T>
  void number(T value) {
    static_assert(std::is_integral_v<T>);
    if constexpr (std::is_signed_v<T>) {
      const auto wide = static_cast<std::int64_t>(value);
      varint((static_cast<std::uint64_t>(wide) << 1U) ^ static_cast<std::uint64_t>(wide >> 63U));
    } else {
      varint(value);
    }
  }
  /// Guards values that later versions added to a record: older journals end before them.
  static constexpr bool more() noexcept { return true; }
  void real(double value);
  void text(std::string_view value);
  /// Appends bytes that are already encoded.
  void spelled(std::string_view bytes) { out_.append(bytes); }
  void kind(Kind value) { number(static_cast<std::uint32_t>(value)); }
  template <class T, class Visit>
  void list(const std::vector<T>& values, Visit visit) {
    number(values.size());
    for (const T& value : values) { visit(*this, value); }
  }

 private:
  void varint(std::uint64_t value);

  std::string& out_;
};

/// Decodes the output of an Encoder. Input may be arbitrary: it never reads past the end. After the first value that is
/// missing or out of range, all further reads fail and change nothing.
class TAKT_EXPORT Decoder {
 public:
  explicit Decoder(std::string_view bytes) noexcept : left_(bytes) {}

  bool ok() const noexcept { return ok_; }
  bool more() const noexcept { return !left_.empty(); }
  /// Returns the bytes that are not read yet.
  std::string_view left() const noexcept { return left_; }

  template <class T>
  void number(T& value) noexcept {
    static_assert(std::is_integral_v<T>);
    const std::uint64_t raw = varint();
    if constexpr (std::is_signed_v<T>) {
      const auto wide = static_cast<std::int64_t>((raw >> 1U) ^ (~(raw & 1U) + 1));
      ok_ = ok_ && wide >= std::numeric_limits<T>::min() && wide <= std::numeric_limits<T>::max();
      if (ok_) { value = static_cast<T>(wide); }
    } else {
      ok_ = ok_ && raw <= std::numeric_limits<T>::max();
      if (ok_) { value = static_cast<T>(raw); }
    }
  }
  void real(double& value) noexcept;
  void text(std::string& value);
  /// Returns a view into the input bytes, which must outlive it.
  void text(std::string_view& value) noexcept;
  void kind(Kind& value) noexcept;
  template <class T, class Visit>
  void list(std::vector<T>& values, Visit visit) {
    std::uint64_t count = 0;
    number(count);
    ok_ = ok_ && count <= left_.size();  // each takes at least one byte
    for (std::uint64_t at = 0; ok_ && at < count; ++at) {
      values.emplace_back();
      visit(*this, values.back());
    }
  }

 private:
  std::uint64_t varint() noexcept;

  std::string_view left_;
  bool ok_ = true;
};

/// Encodes or decodes an optional value; `absent` stands for nullopt.
template <class Coder, class Known, class Absent>
void visit_known(Coder& coder, Known& known, Absent absent) {
  using Value = typename Known::value_type;
  Value value = known.value_or(static_cast<Value>(absent));
  if constexpr (std::is_floating_point_v<Value>) {
    coder.real(value);
  } else {
    coder.number(value);
  }
  if constexpr (!std::is_const_v<Known>) {
    known = value == static_cast<Value>(absent) ? std::nullopt : std::optional<Value>(value);
  }
}

/// Returns the CRC-32C (Castagnoli) of `bytes`, continuing from `before`, the CRC of the bytes before them. Any thread.
/// Exported for the separate exporter libraries.
TAKT_EXPORT std::uint32_t crc32c(std::string_view bytes, std::uint32_t before = 0) noexcept;
/// Computes crc32c() without the processor's CRC instruction.
std::uint32_t crc32c_portable(std::string_view bytes, std::uint32_t before = 0) noexcept;

// Adds with wrap-around at 64 bits. Numbers from files and other processes may be arbitrary, and int64_t overflow would
// be undefined. Any thread.

constexpr std::int64_t wrapped_sum(std::int64_t a, std::int64_t b) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
constexpr std::int64_t wrapped_difference(std::int64_t a, std::int64_t b) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

}  // namespace detail
TAKT_END_NAMESPACE
