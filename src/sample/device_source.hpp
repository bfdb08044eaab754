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

/// Devices that a process may use, from a variable such as CUDA_VISIBLE_DEVICES. A value type.
struct VisibleDevices {
  bool all = true;  ///< the variable is not set
  std::vector<std::string> entries;

  /// \param value of the variable; nullptr: not set. Entries after the 64th are ignored.
  static VisibleDevices of(const char* value);
  /// Returns true if an entry is a number, which uses the vendor's own device order.
  bool has_numbers() const noexcept;
};

/// Parses an entry as an index. Returns false if it is not one.
bool parse_device_index(std::string_view entry, std::size_t& index) noexcept;

/// A source whose sensors are devices, queried one value at a time from a vendor's library. Not thread-safe.
class DeviceSource : public SampleSource {
 public:
  static constexpr std::size_t kMaxDevices = 64;
  static constexpr int kMaxFailures = 50;  ///< maximum consecutive reads without any value; then the device is dropped

  void read(const NowNs& now, std::vector<Reading>& readings) final;

 protected:
  enum class Answer {
    reported,
    failed,  ///< unsupported, or no value this time
    gone,    ///< it will never answer again
  };
  /// Queries a value of device number `device`. On failure, trouble() has the reason.
  virtual Answer ask(std::size_t device, Quantity quantity, std::int64_t& value) = 0;
  virtual std::string trouble() const = 0;

  std::size_t devices() const noexcept { return asked_.size(); }
  /// Probes device number devices() and returns the quantities it reports. A device that reports any is read from now
  /// on.
  /// \param may quantities to try.
  std::vector<Quantity> add_device(const std::vector<Quantity>& may);

 private:
  struct Asked {
    std::vector<Quantity> quantities;
    int failures = 0;
    bool lost = false;
  };
  Reading read(std::size_t device, const NowNs& now);

  std::vector<Asked> asked_;  // by device number
};

}  // namespace detail
TAKT_END_NAMESPACE
