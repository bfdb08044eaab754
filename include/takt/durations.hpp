// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>
#include <takt/detail/size.hpp>

#include <cstdint>
#include <new>

#include <takt/detail/macros_begin.hpp>

TAKT_BEGIN_NAMESPACE

/// A list of durations in ns, as Timer::times() gives it. A value. One thread at a time.
class Durations {
 public:
  Durations() noexcept = default;
  Durations(Durations&& other) noexcept : data_(other.data_), size_(other.size_), room_(other.room_) {
    other.data_ = nullptr;
    other.size_ = other.room_ = 0;
  }
  Durations& operator=(Durations&& other) noexcept {
    if (this != &other) {
      delete[] data_;
      data_ = other.data_;
      size_ = other.size_;
      room_ = other.room_;
      other.data_ = nullptr;
      other.size_ = other.room_ = 0;
    }
    return *this;
  }
  Durations(const Durations&) = delete;
  Durations& operator=(const Durations&) = delete;
  ~Durations() { delete[] data_; }

  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  const std::int64_t* begin() const noexcept { return data_; }
  const std::int64_t* end() const noexcept { return data_ + size_; }
  std::int64_t operator[](std::size_t index) const noexcept { return data_[index]; }

  /// Without memory the rest is left out.
  void push_back(std::int64_t ns) noexcept {
    if (size_ == room_) {
      const std::size_t room = room_ == 0 ? 64 : room_ * 2;
      auto* data = new (std::nothrow) std::int64_t[room];
      if (data == nullptr) { return; }
      for (std::size_t index = 0; index < size_; ++index) { data[index] = data_[index]; }
      delete[] data_;
      data_ = data;
      room_ = room;
    }
    data_[size_++] = ns;
  }

 private:
  std::int64_t* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t room_ = 0;
};

TAKT_END_NAMESPACE

#include <takt/detail/macros_end.hpp>
