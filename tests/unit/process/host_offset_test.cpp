// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "process/device_time_lines.hpp"

#include "support/catch.hpp"
#include "support/random.hpp"

#include <cmath>
#include <cstdint>
#include <vector>

using takt::detail::HostOffset;

namespace {

constexpr double kSecond = 1e9;
constexpr double kHost0 = 5e12;  // host clock at the device's time 0

/// Returns the host time for a device clock that is slower by `ppm`, varying by half a ppm in 20 minutes.
double host_at(double device_ns, double ppm) {
  const double period_ns = 1200 * kSecond;
  const double turn = 2 * 3.14159265358979 / period_ns;
  return kHost0 + device_ns * (1 + ppm * 1e-6) + 0.5e-6 * (1 - std::cos(turn * device_ns)) / turn;
}

struct Worst {
  double error_ns = 0;  // actual error of a time
  double bound_ns = 0;  // reported bound of the error
  std::uint64_t outside = 0;
};

/// Maximum time from submission to the event, additional time while the device is behind, and maximum delay until the
/// event is seen.
struct Habits {
  std::uint64_t before_ns;
  std::uint64_t behind_ns;
  std::uint64_t after_ns;
};
constexpr Habits kLazy = {3'000'000, 20'000'000, 8'000'000};
constexpr Habits kAtHand = {5'000, 0, 5'000};

/// Simulates an hour of events and returns the worst of its last part, or of all. In 40 s of every 120 s the device is
/// behind.
/// \param reported maps an event's device time to the reported one.
template <class Reported>
Worst an_hour(double ppm, const Habits& habits, Reported reported) {
  HostOffset offset;
  takt_test::Random random(7);
  Worst worst;
  const int first = 3600 - takt_test::scaled(3600);
  for (int second = first; second < 3600; ++second) {
    const bool behind = second / 40 % 3 == 1;  // for 40 s at a time
    std::vector<double> times;
    for (int event = 0; event < 100; ++event) {
      // Avoids whole milliseconds, which a float represents exactly.
      const double device_ns = (second + event / 100.0) * kSecond + static_cast<double>(random.below(9'000'000));
      const double host_ns = host_at(device_ns, ppm);
      const double before = 2e3 + static_cast<double>((behind ? habits.behind_ns : 0) + random.below(habits.before_ns));
      const double after = 4e3 + static_cast<double>(random.below(habits.after_ns));
      offset.add(reported(device_ns), static_cast<std::uint64_t>(host_ns - before),
                 static_cast<std::uint64_t>(std::ceil(host_ns + after)));
      times.push_back(device_ns);
    }
    offset.settle();
    for (const double device_ns : times) {
      const HostOffset::Time time = offset.at(reported(device_ns));
      const double error = std::fabs(time.host_ns - host_at(device_ns, ppm));
      worst.outside += error > time.error_ns ? 1 : 0;
      if (second < first + 120) { continue; }
      worst.error_ns = std::max(worst.error_ns, error);
      worst.bound_ns = std::max(worst.bound_ns, time.error_ns);
    }
  }
  return worst;
}

double exactly(double device_ns) { return device_ns; }
/// Rounds as a driver does that reports the distance to an event of an hour ago.
double by_one_base_event(double device_ns) { return static_cast<double>(static_cast<float>(device_ns * 1e-6)) * 1e6; }

}  // namespace

TEST_CASE("HostOffset: for two clocks 37 ppm apart the bound holds over an hour") {
  for (const double ppm : {37.0, -150.0}) {
    const Worst worst = an_hour(ppm, kLazy, exactly);
    INFO(ppm << " ppm: worst " << worst.error_ns << " ns, bound " << worst.bound_ns << " ns");
    CHECK(worst.outside == 0);
    CHECK(worst.bound_ns < 1e6);  // a millisecond, although results are up to 8 ms late and events 20 ms early
  }
}

TEST_CASE("HostOffset: a single base event for all times breaks the bound") {
  const Worst anchored = an_hour(37, kAtHand, exactly);
  const Worst naive = an_hour(37, kAtHand, by_one_base_event);
  INFO("anchored " << anchored.error_ns << " ns of " << anchored.bound_ns << ", with one base event " << naive.error_ns
                   << " ns of " << naive.bound_ns);
  CHECK(anchored.outside == 0);
  CHECK(anchored.bound_ns < 10'000);
  CHECK(naive.outside > 0);
  CHECK(naive.error_ns > 100'000);  // half the resolution of a float in ms at one hour
}

TEST_CASE("HostOffset: places an idle device that is polled at once within microseconds") {
  HostOffset offset;
  for (int event = 0; event < 6000; ++event) {
    const double device_ns = event * 1e7;
    const double host_ns = host_at(device_ns, 37);
    offset.add(device_ns, static_cast<std::uint64_t>(host_ns - 3000), static_cast<std::uint64_t>(host_ns + 3000));
    if (event % 100 == 99) { offset.settle(); }
  }
  const HostOffset::Time time = offset.at(59.5 * kSecond);
  CHECK(std::fabs(time.host_ns - host_at(59.5 * kSecond, 37)) < 5000);
  CHECK(time.error_ns < 6000);
}

TEST_CASE("HostOffset: settled times keep their place and all times keep their order") {
  HostOffset offset;
  offset.add(0, 1'000'000'000, 3'000'000'000);  // within a second of the middle
  offset.settle();
  const double before = offset.at(0).host_ns;
  CHECK(before == 2e9);
  CHECK(offset.at(0).error_ns >= 1e9);
  offset.add(1e9, 2'000'000'000, 2'000'010'000);  // shows that the first was at the start of its bounds
  offset.settle();
  CHECK(offset.at(0).host_ns == before);
  const HostOffset::Time late = offset.at(1e9);
  CHECK(late.host_ns > before);
  CHECK(std::fabs(late.host_ns - 2.000005e9) <= late.error_ns);
  double last = 0;
  for (double device_ns = -1e8; device_ns < 1.1e9; device_ns += 1e7) {
    CHECK(offset.at(device_ns).host_ns > last);
    last = offset.at(device_ns).host_ns;
  }
}

namespace {

/// Simulates two minutes of a device whose rate changes from `before` to `after` at 60 s, and which is idle in the
/// seconds that `at_hand` selects. Returns the maximum error beyond the bound.
template <class AtHand>
double beyond(double before_ppm, double after_ppm, AtHand at_hand, double& bound_ns) {
  const auto host_at = [&](double device_ns) {
    const double step_ns = 60 * kSecond;
    return kHost0 + device_ns + std::min(device_ns, step_ns) * before_ppm * 1e-6 +
           std::max(device_ns - step_ns, 0.0) * after_ppm * 1e-6;
  };
  HostOffset offset;
  double beyond_ns = 0;
  bound_ns = 0;
  for (int second = 0; second < 120; ++second) {
    const double late_ns = at_hand(second) ? 3e3 : 30e6;
    std::vector<double> times;
    for (int event = 0; event < 20; ++event) {
      const double device_ns = (second + event / 20.0) * kSecond;
      offset.add(device_ns, static_cast<std::uint64_t>(host_at(device_ns) - late_ns),
                 static_cast<std::uint64_t>(std::ceil(host_at(device_ns) + late_ns / 3)));
      times.push_back(device_ns);
    }
    offset.settle();
    for (const double device_ns : times) {
      const HostOffset::Time time = offset.at(device_ns);
      beyond_ns = std::max(beyond_ns, std::fabs(time.host_ns - host_at(device_ns)) - time.error_ns);
      bound_ns = std::max(bound_ns, time.error_ns);
    }
  }
  return beyond_ns;
}

}  // namespace

TEST_CASE("HostOffset: the bound holds while a rate differs by 1 ppm from its mean of a minute") {
  double bound_ns = 0;
  // Idle before the step, and rarely after it.
  const auto rarely = [](int second) { return second < 60 || second > 110; };
  CHECK(beyond(1, -1, rarely, bound_ns) <= 0);
  CHECK(beyond(-1, 1, rarely, bound_ns) <= 0);
  CHECK(bound_ns < 400'000);
  CHECK(beyond(
            1, -1, [](int) { return true; }, bound_ns) <= 0);
  CHECK(bound_ns < 100'000);
}

TEST_CASE("HostOffset: the error includes a step of the rate of up to 200 ppm that the bounds reveal") {
  double bound_ns = 0;
  for (const double step_ppm : {37.0, -37.0, 190.0}) {
    INFO(step_ppm << " ppm");
    CHECK(beyond(
              0, step_ppm, [](int) { return true; }, bound_ns) <= 0);
    CHECK(bound_ns < 500'000);
  }
}

TEST_CASE("HostOffset: contradictory bounds widen the error") {
  HostOffset offset;
  offset.add(0, 1'000'000'000, 1'000'001'000);
  offset.add(1e7, 5'000'000'000, 5'000'001'000);  // 4 s in 10 ms
  offset.settle();
  CHECK(offset.at(0).error_ns > 1e9);
}

TEST_CASE("HostOffset: without data there is no bound") {
  const HostOffset offset;
  CHECK(std::isinf(offset.at(17).error_ns));
}

TEST_CASE("HostOffset: the bound allows for a host clock that NTP slews, if enabled") {
  constexpr double kSlewed = 1 + 500e-6;
  // Slewed by 500 ppm for half of each minute, alternately up and down.
  const auto host_of = [](double device_ns) {
    const double part = std::fmod(device_ns, 60 * kSecond);
    return kHost0 + device_ns + (kSlewed - 1) * (part < 30 * kSecond ? part : 60 * kSecond - part);
  };
  HostOffset allowed;
  HostOffset steady;
  allowed.host_may_be_slewed();
  int outside_allowed = 0;
  int outside_steady = 0;
  double widest_ns = 0;
  for (int event = 0; event < 60'000; ++event) {
    const double device_ns = event * 1e7;
    const auto submitted_ns = static_cast<std::uint64_t>(host_of(device_ns) - 3000);
    const auto seen_ns = static_cast<std::uint64_t>(host_of(device_ns) + 3000);
    for (HostOffset* each : {&allowed, &steady}) { each->add(device_ns, submitted_ns, seen_ns); }
    if (event % 20 != 19) { continue; }
    for (HostOffset* each : {&allowed, &steady}) { each->settle(); }
    for (const double ago_ns : {0.0, 0.5e8, 1.3e8}) {
      const auto is_outside = [&](const HostOffset& offset) {
        const HostOffset::Time time = offset.at(device_ns - ago_ns);
        return std::fabs(time.host_ns - host_of(device_ns - ago_ns)) > time.error_ns;
      };
      outside_allowed += is_outside(allowed) ? 1 : 0;
      outside_steady += is_outside(steady) ? 1 : 0;
      widest_ns = std::max(widest_ns, allowed.at(device_ns - ago_ns).error_ns);
    }
  }
  CHECK(outside_allowed == 0);
  CHECK(outside_steady > 0);
  CHECK(widest_ns < 1e6);
}
