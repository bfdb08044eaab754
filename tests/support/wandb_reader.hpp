// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "trackers/protobuf.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace takt_test {

/// Returns the records of a W&B transaction log; throws at the first wrong byte.
inline std::vector<std::string> wandb_log_records(std::string_view file) {
  constexpr std::size_t block = 32768;
  const auto byte = [&](std::size_t at) { return static_cast<std::uint32_t>(static_cast<unsigned char>(file.at(at))); };
  const auto check = [](bool good, const char* what) {
    if (!good) { throw std::runtime_error(what); }
  };
  check(file.substr(0, 7) == std::string_view(":W&B\xE1\xBE\0", 7), "header");
  std::vector<std::string> records;
  std::string record;
  bool open = false;
  for (std::size_t at = 7; at < file.size();) {
    const std::size_t left = block - at % block;
    if (left < 7) {
      check(file.substr(at, left).find_first_not_of('\0') == std::string_view::npos, "padding");
      at += left;
      continue;
    }
    const std::uint32_t crc = byte(at) | byte(at + 1) << 8U | byte(at + 2) << 16U | byte(at + 3) << 24U;
    const std::size_t length = byte(at + 4) | byte(at + 5) << 8U;
    const std::uint32_t kind = byte(at + 6);
    check(7 + length <= left && at + 7 + length <= file.size(), "length");
    check(crc == takt::detail::crc32(file.substr(at + 6, 1 + length)), "CRC");
    check(kind >= 1 && kind <= 4 && open == (kind > 2), "order");
    record += file.substr(at + 7, length);
    open = kind == 2 || kind == 3;
    if (!open) { records.push_back(std::exchange(record, "")); }
    at += 7 + length;
  }
  check(!open, "end");
  return records;
}

/// A protobuf message: numbers, and the bytes of strings and messages, by field.
struct WandbMessage {
  explicit WandbMessage(std::string_view bytes) {
    std::size_t at = 0;
    const auto varint = [&] {
      std::uint64_t value = 0;
      for (unsigned shift = 0;; shift += 7) {
        const auto each = static_cast<unsigned char>(bytes.at(at++));
        value |= static_cast<std::uint64_t>(each & 0x7FU) << shift;
        if (each < 0x80U) { return value; }
      }
    };
    while (at < bytes.size()) {
      const std::uint64_t tag = varint();
      if (tag % 8 == 0) {
        numbers[tag / 8] = static_cast<std::int64_t>(varint());
      } else if (tag % 8 == 2) {
        const std::uint64_t size = varint();
        texts[tag / 8].emplace_back(bytes.substr(at, size));
        if (texts[tag / 8].back().size() != size) { throw std::runtime_error("cut"); }
        at += size;
      } else if (tag % 8 == 1 || tag % 8 == 5) {  // fixed-size values, which no test needs
        at += tag % 8 == 1 ? 8 : 4;
      } else {
        throw std::runtime_error("kind of field");
      }
    }
  }

  std::string text(std::uint64_t field) const {
    const auto found = texts.find(field);
    return found == texts.end() ? "" : found->second.back();
  }
  WandbMessage message(std::uint64_t field) const { return WandbMessage(text(field)); }
  bool has(std::uint64_t field) const { return texts.count(field) != 0; }
  /// Returns the items of a message with key-value pairs.
  std::map<std::string, std::string> items() const {
    std::map<std::string, std::string> found;
    const auto all = texts.find(1);
    if (all == texts.end()) { return found; }
    for (const std::string& bytes : all->second) {
      const WandbMessage item(bytes);
      found[item.text(1)] = item.text(16);
    }
    return found;
  }

  std::map<std::uint64_t, std::int64_t> numbers;
  std::map<std::uint64_t, std::vector<std::string>> texts;
};

}  // namespace takt_test
