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

/// State of GraphRegions: a device of its own for DeviceQueue; each span is one region in one replay. An ordinary
/// device event is recorded after each launch. Once it completes, all replays up to this launch have written the
/// graph's events. No later replay has, unless a further launch was announced. Replays of one executable run one after
/// the other on any streams; with two executables, nothing is read.
/// Owned by its GraphRegions and by each pending span; the last one deletes it.
class GraphState {
 public:
  static constexpr unsigned kMax = 64;
  static constexpr unsigned kNone = kMax;

  /// Begins a region while the graph is captured; returns kNone if there are too many.
  unsigned begin(KeyIndex key, StreamRef stream) noexcept;
  void end(unsigned region) noexcept;
  bool is_empty() const noexcept { return count_ == 0; }

  /// \param here nullptr if this replay is not recorded.
  void launching(Recorder* here, const void* executable) noexcept;
  void launched(Recorder* here, StreamRef stream) noexcept;
  /// Handles a launch that was announced, if it is unknown whether it took place.
  void left(Recorder* here, StreamRef stream) noexcept;
  void drop() noexcept;

 private:
  struct Region {
    KeyIndex key = kNoKey;
    unsigned around = kNone;
    DeviceBegin begin;
    DeviceBegin end;
  };
  // A span begins at the event after its launch, and ends at a number that encodes the launch and the region.
  static constexpr Mark kNumber = Mark{1} << 63U;  // distinguishes numbers from events, which are addresses
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
  unsigned innermost_ = kNone;        // innermost open region
  const void* executable_ = nullptr;  // executable of the first replay that passed one
  std::atomic<bool> mixed_{false};    // replays passed two executables: both write the same events, and may run
                                      // concurrently
  std::atomic<std::uint32_t> users_{1};
  std::atomic<std::uint64_t> launches_{0};  // announced launches
  std::atomic<std::uint64_t> finished_{0};  // newest launch known to have finished
};

}  // namespace detail
TAKT_END_NAMESPACE
