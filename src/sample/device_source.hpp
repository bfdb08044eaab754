// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "sample/sample_source.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A source whose meters are devices, which a library of their vendor is asked about one value at a time. One thread at
/// a time.
class DeviceSource : public SampleSource {
 public:
  static constexpr std::size_t kMostDevices = 64;
  static constexpr int kMostFailures = 50;  ///< in a row, of all that a device is asked; then it is given up

  void read(const NowNs& now, std::vector<Reading>& readings) final;

 protected:
  enum class Answer {
    told,
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
