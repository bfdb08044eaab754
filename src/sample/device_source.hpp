// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "sample/sampler.hpp"

#include <takt/config.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Which devices of a machine a process may use, as a variable such as CUDA_VISIBLE_DEVICES lists them. A value.
struct VisibleDevices {
  bool all = true;  ///< the variable is not set
  std::vector<std::string> entries;

  /// \param value of the variable; nullptr: it is not set. Behind 64 entries the rest is passed over.
  static VisibleDevices of(const char* value);
  /// Whether an entry is a number, which counts devices in an order of its own.
  bool has_numbers() const noexcept;
};

/// The index that an entry is; false: it is none.
bool parse_device_index(std::string_view entry, std::size_t& index) noexcept;

/// A source whose meters are devices, which a library of their vendor is asked about one value at a time. One thread at
/// a time.
class DeviceSource : public SampleSource {
 public:
  static constexpr std::size_t kMaxDevices = 64;
  static constexpr int kMaxFailures = 50;  ///< in a row, of all that a device is asked; then it is given up

  void read(const NowNs& now, std::vector<Reading>& readings) final;

 protected:
  enum class Answer {
    reported,
    failed,  ///< the device has no such thing, or does not tell it this time
    gone,    ///< it will never answer again
  };
  /// Asks the device of that number for a value. Where it does not tell one, trouble() says why.
  virtual Answer ask(std::size_t device, Quantity quantity, std::int64_t& value) = 0;
  virtual std::string trouble() const = 0;

  std::size_t devices() const noexcept { return asked_.size(); }
  /// Tries what the device whose number is devices() can tell, and returns it. One that tells anything is read from now
  /// on. \param may what it may be able to tell.
  std::vector<Quantity> add_device(const std::vector<Quantity>& may);

 private:
  struct Asked {
    std::vector<Quantity> quantities;
    int failures = 0;
    bool lost = false;
  };
  Reading read(std::size_t device, const NowNs& now);

  std::vector<Asked> asked_;  // by number
};

}  // namespace detail
TAKT_END_NAMESPACE
