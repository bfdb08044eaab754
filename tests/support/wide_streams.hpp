// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "record/device_queue.hpp"
#include "support/fake_driver.hpp"

namespace takt_test {

/// Raises a stream's limit above what DeviceQueue holds, during its lifetime. Make it after a Session, which sets that
/// limit.
class WideStreams {
 public:
  explicit WideStreams(FakeDriver& driver) {
    takt::detail::records_in_flight = kMax;
    driver.hold_records(kMax);
  }
  ~WideStreams() { takt::detail::records_in_flight = takt::detail::kRecordsInFlight; }
  WideStreams(const WideStreams&) = delete;
  WideStreams& operator=(const WideStreams&) = delete;

 private:
  static constexpr unsigned kMax = 1U << 16U;
};

}  // namespace takt_test
