// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/backend.hpp>

#include "record/recorder.hpp"

#include <array>
#include <atomic>
#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What GraphRegions is made of: a device of its own for DeviceQueue, whose spans are those of one region in one
/// replay. Behind each launch stands an ordinary mark. When that has been reached, all replays up to this launch have
/// written the events of the graph (replays of one executable run one after the other, on whichever streams they are
/// launched; where there are two, nothing is read), and none after it has as long as no further launch was announced.
///
/// Used by its GraphRegions and by each span that is pending, the last of which deletes it.
class GraphState {
 public:
  static constexpr unsigned kMax = 64;
  static constexpr unsigned kNone = kMax;

  /// While the graph is captured; kNone where there are too many.
  unsigned begin(KeyIndex key, StreamRef stream) noexcept;
  void end(unsigned region) noexcept;
  bool is_empty() const noexcept { return count_ == 0; }

  /// \param here nullptr: this replay is not recorded.
  void launching(Recorder* here, const void* executable) noexcept;
  void launched(Recorder* here, StreamRef stream) noexcept;
  /// Announced, and whether it was launched nobody knows.
  void left(Recorder* here, StreamRef stream) noexcept;
  void drop() noexcept;

 private:
  struct Region {
    KeyIndex key = kNoKey;
    unsigned around = kNone;
    DeviceBegin begin;
    DeviceBegin end;
  };
  // A span begins at the mark behind its launch, and ends at the number of that launch and of its region.
  static constexpr Mark kNumber = Mark{1} << 63U;  // tells it from the other one, which is an address
  static Mark number_of(std::uint64_t launch, unsigned region) noexcept { return kNumber | launch << 8U | region; }
  static std::uint64_t launch_of(Mark number) noexcept { return (number & ~kNumber) >> 8U; }
  static unsigned region_of(Mark number) noexcept { return static_cast<unsigned>(number & 0xFFU); }

  static const DeviceOps kOps;
  StreamRef ref() noexcept { return {&kOps, this}; }
  Elapsed elapsed(Mark behind, Mark number) noexcept;
  void release(Mark mark) noexcept;
  void forget_events() noexcept;

  std::array<Region, kMax> region_;
  unsigned count_ = 0;
  unsigned innermost_ = kNone;        // that has begun and not ended
  const void* executable_ = nullptr;  // of the first replay that told its own
  std::atomic<bool> mixed_{false};    // replays have told two: both write the same events, and may run side by side
  std::atomic<std::uint32_t> users_{1};
  std::atomic<std::uint64_t> launches_{0};  // announced
  std::atomic<std::uint64_t> finished_{0};  // the newest one that is known to have
};

}  // namespace detail
TAKT_END_NAMESPACE
