// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// G1 to G6: compare stream spans with the device's own clock.
#include "device/gpu_check.hpp"

#include <cmath>
#include <iterator>
#include <memory>

namespace gpu_check {
namespace {

constexpr std::uint64_t kMicro = 1'000;
constexpr std::uint64_t kMilli = 1'000'000;
constexpr takt::Key Outer{"Outer", takt::Kind::compute};
constexpr takt::Key Inner{"Inner", takt::Kind::compute};
constexpr takt::Key Innermost{"Innermost", takt::Kind::compute};
constexpr takt::Key Lap{"Lap", takt::Kind::compute};
constexpr auto kLongest = std::chrono::seconds(10);

std::string number(const std::string& pattern, int check) { return takt::detail::format(pattern, check); }

unsigned long long device_clock_step() {
  const Stream stream;
  const Pinned<unsigned long long> step(1);
  clock_step(stream, step.data());
  stream.finish();
  return step[0];
}

/// G1: clock resolution. Bare events without Takt.
void clocks() {
  constexpr int kRounds = 400;
  constexpr int kPairs = 256;
  report("G1", "smallest step of %globaltimer", takt::detail::format("{} ns", device_clock_step()));
  const Stream stream;
  std::vector<cudaEvent_t> events(2 * kPairs);
  for (cudaEvent_t& event : events) { REQUIRE_CUDA(cudaEventCreate(&event)); }
  std::vector<double> spans;
  for (int round = 0; round < kRounds; ++round) {
    for (cudaEvent_t event : events) { REQUIRE_CUDA(cudaEventRecord(event, stream)); }
    stream.finish();
    for (std::size_t pair = 0; pair < kPairs; ++pair) {
      float ms = 0;
      REQUIRE_CUDA(cudaEventElapsedTime(&ms, events[2 * pair], events[2 * pair + 1]));
      spans.push_back(std::round(static_cast<double>(ms) * 1e6));
    }
  }
  for (cudaEvent_t event : events) { REQUIRE_CUDA(cudaEventDestroy(event)); }
  const double median = percentile(spans, 0.5);
  report("G1", takt::detail::format("span without work, {} pairs in a row", spans.size()),
         takt::detail::format("median {}, 99 % below {}, most {}", micro(median), micro(percentile(spans, 0.99)),
                              micro(spans.back())));
  double step = spans.back();
  for (std::size_t at = 1; at < spans.size(); ++at) {
    if (spans[at] > spans[at - 1]) { step = std::min(step, spans[at] - spans[at - 1]); }
  }
  say("G1", "smallest step of an event's time", "at most 1 us", micro(step), step <= 1000);
}

/// Gives each region its own Timer and thus its own statistics: durations of one key are merged as they resolve.
template <class B>
class Timers {
 public:
  Timers(std::size_t count, cudaStream_t stream) {
    for (std::size_t each = 0; each < count; ++each) {
      timers_.push_back(std::make_unique<takt::Timer<B>>(B(stream_of<B>(stream))));
    }
  }
  takt::Timer<B>& operator[](std::size_t index) const { return *timers_[index]; }
  /// Returns true if all regions of every Timer are resolved.
  bool complete() const {
    return std::all_of(timers_.begin(), timers_.end(), [](const auto& timer) { return timer->complete(kLongest); });
  }

 private:
  std::vector<std::unique_ptr<takt::Timer<B>>> timers_;
};

/// G2: kernels of known duration, queued behind a gate so that launches do not matter.
template <class B>
void known_lengths(const std::string& id) {
  constexpr std::uint64_t kLengths[] = {10 * kMicro, 100 * kMicro, kMilli, 10 * kMilli, 100 * kMilli};
  constexpr std::size_t kTimes = 5;
  constexpr std::size_t kAll = std::size(kLengths) * kTimes;
  const auto step = static_cast<double>(device_clock_step());
  const Stream stream;
  const Pinned<Stamp> stamps(kAll);
  const Timers<B> timers(kAll, stream);
  spin(stream, kMicro, &stamps[0]);  // loads the kernel; a driver may wait for an idle device to do so
  stream.finish();
  {
    Gate closed(stream);
    for (std::size_t at = 0; at < kAll; ++at) {
      timers[at].start(Inner);
      spin(stream, kLengths[at / kTimes], &stamps[at]);
      timers[at].end(Inner);
    }
    closed.open();
    stream.finish();
  }
  say(id, "kernels of known length: all spans came in", "yes", timers.complete() ? "yes" : "no", timers.complete());
  const auto span = [&](std::size_t at) { return static_cast<double>(timers[at].stats(Inner).total_ns); };
  const auto own = [&](std::size_t at) { return static_cast<double>(stamps[at].end - stamps[at].begin); };
  for (std::size_t length = 0; length < std::size(kLengths); ++length) {
    double min = 1e18;
    double max = -1e18;
    for (std::size_t at = length * kTimes; at < (length + 1) * kTimes; ++at) {
      min = std::min(min, span(at) - own(at));
      max = std::max(max, span(at) - own(at));
    }
    say(id, takt::detail::format("span less the kernel's own clock, {} us", kLengths[length] / kMicro),
        takt::detail::format("0 to 6 us, less a step of that clock ({:.0f} ns)", step),
        takt::detail::format("{} to {}", micro(min), micro(max)), min >= -step && max <= 6000);
  }
  const double slope = (span(kAll - 1) - span(0)) / (own(kAll - 1) - own(0));
  say(id, "rate of spans against that clock", "within 1e-4 of 1", takt::detail::format("1 {:+.2e}", slope - 1),
      std::abs(slope - 1) <= 1e-4);
}

/// G3: no call waits for the device.
template <class B>
void no_wait(const std::string& id) {
  constexpr int kRegions = 200;
  const Stream streams[2];  // two streams, so that each has fewer regions in its queue than Takt's limit
  const auto regions = [&](int count) {
    for (int region = 0; region < count; ++region) {
      const Stream& stream = streams[region % 2];
      takt::Scope s(Outer, stream_of<B>(stream));
      spin(stream, kMilli);
    }
  };
  const auto finish = [&] {
    for (const Stream& stream : streams) { stream.finish(); }
  };
  regions(10);  // creates events and paths
  finish();
  takt::complete(kLongest);
  const Spans before = spans_of(Outer);
  const long waits = driver_calls("Synchronize");
  const std::uint64_t begin = host_ns();
  regions(kRegions);
  const auto taken = static_cast<double>(host_ns() - begin);
  const long waited = driver_calls("Synchronize") - waits;
  say(id, "200 regions around kernels of 1 ms: time of the host", "below 20 ms",
      takt::detail::format("{:.3f} ms", taken / 1e6), taken < 20e6);
  say(id, "calls in that time that wait for the device", "0",
      waits < 0 ? "not counted" : takt::detail::format("{}", waited), waits >= 0 && waited == 0);
  finish();
  takt::complete(kLongest);
  const Spans after = spans_of(Outer);
  say(id, "spans of these that came in", "200", takt::detail::format("{}", after.timed - before.timed),
      after.timed - before.timed == kRegions && after.total_ns - before.total_ns >= kRegions * kMilli);
}

/// G4: a span does not include work of another stream.
template <class B>
void other_stream(const std::string& id) {
  const Stream ours;
  const Stream other;
  takt::Timer<B> timer{B(stream_of<B>(ours))};
  spin(ours, kMicro);
  ours.finish();
  spin(other, 250 * kMilli);
  timer.start(Inner);
  timer.end(Inner);
  timer.complete(kLongest);
  const takt::Stats stats = timer.stats(Inner);
  say(id, "span without work, beside 250 ms on another stream", "below 1 ms",
      micro(static_cast<double>(stats.total_ns)), stats.n == 1 && stats.total_ns < kMilli);
  other.finish();
}

/// G5: a pause in which the host is busy is part of the span around it, but not of the kernels' spans.
template <class B>
void gap(const std::string& id) {
  const Stream stream;
  takt::Timer<B> timer{B(stream_of<B>(stream))};
  stream.finish();
  timer.start(Outer);
  for (int kernel = 0; kernel < 2; ++kernel) {
    timer.start(Inner);
    spin(stream, kMilli);
    timer.end(Inner);
    if (kernel == 0) { idle_ns(21 * kMilli); }
  }
  timer.end(Outer);
  timer.complete(kLongest);
  const auto outer = static_cast<double>(timer.stats(Outer).total_ns) / 1e6;
  const auto inner = static_cast<double>(timer.stats(Inner).total_ns) / 1e6;
  say(id, "1 ms, 20 ms without work, 1 ms: span of all", "21.5 to 24 ms", takt::detail::format("{:.3f} ms", outer),
      outer >= 21.5 && outer <= 24);
  say(id, "spans of the two kernels", "2 to 2.1 ms", takt::detail::format("{:.3f} ms", inner),
      inner >= 2 && inner <= 2.1);
}

/// G6: spans nest, and laps add up.
template <class B>
void nesting(const std::string& id) {
  constexpr std::size_t kTimes = 100;
  const Stream stream;
  const Timers<B> timers(kTimes, stream);
  for (std::size_t time = 0; time < kTimes; ++time) {
    takt::Timer<B>& timer = timers[time];
    timer.start(Outer);
    for (int child = 0; child < 2; ++child) {
      timer.start(Inner);
      timer.start(Innermost);
      spin(stream, 20 * kMicro);
      timer.end(Innermost);
      timer.end(Inner);
    }
    timer.end(Outer);
  }
  const bool all = timers.complete();
  double worst = 1e18;
  for (std::size_t time = 0; time < kTimes; ++time) {
    const auto sum = [&](const takt::Key& key) { return static_cast<double>(timers[time].stats(key).total_ns); };
    worst = std::min({worst, sum(Outer) - sum(Inner), sum(Inner) - sum(Innermost)});
  }
  say(id, "a span less those inside it, the least of 200", "at least -1 us", all ? micro(worst) : "spans are missing",
      all && worst >= -1000);
}

template <class B>
void laps(const std::string& id) {
  constexpr int kLaps = 100;
  const Stream stream;
  takt::Timer<B> timer{B(stream_of<B>(stream))};
  const auto chain = [&] {
    timer.start(Outer);
    for (int lap = 0; lap < kLaps; ++lap) {
      timer.lap(Lap);
      spin(stream, 20 * kMicro);
    }
    timer.end(Lap);
    timer.end(Outer);
  };
  chain();
  stream.finish();
  timer.complete(kLongest);
  const takt::Stats lap_before = timer.stats(Lap);
  const takt::Stats outer_before = timer.stats(Outer);
  const long before = driver_calls("EventRecord");
  chain();
  const long records = driver_calls("EventRecord") - before;
  timer.complete(kLongest);
  const auto sum = static_cast<double>(timer.stats(Lap).total_ns - lap_before.total_ns);
  const auto outer = static_cast<double>(timer.stats(Outer).total_ns - outer_before.total_ns);
  say(id, "100 laps: the span around them less their sum", "0 to 100 us", micro(outer - sum),
      timer.stats(Lap).n == 2 * kLaps && outer - sum >= -1000 && outer - sum <= 100e3);
  say(id, "events for 100 laps and the region around them", "103",
      before < 0 ? "not counted" : takt::detail::format("{}", records), before >= 0 && records == kLaps + 3);
}

}  // namespace

template <class B>
void spans(const std::string& number_of) {
  if constexpr (std::is_same_v<B, takt::CudaBackend>) { clocks(); }
  known_lengths<B>(number(number_of, 2));
  no_wait<B>(number(number_of, 3));
  other_stream<B>(number(number_of, 4));
  gap<B>(number(number_of, 5));
  nesting<B>(number(number_of, 6));
  laps<B>(number(number_of, 6));
}
template void spans<takt::CudaBackend>(const std::string&);
template void spans<takt::HipBackend>(const std::string&);

}  // namespace gpu_check
