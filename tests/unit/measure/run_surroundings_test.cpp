// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "measure/measured_times.hpp"

#include "support/catch.hpp"
#include "support/sampled_run.hpp"

#include <cstdint>
#include <vector>

using takt::MeasuredNotes;
using takt::MeasuredRun;
using takt::Quantity;
using takt::Sample;
using takt::Sensor;
using takt::detail::note_surroundings;
using takt::detail::notes_on;

namespace {

Sample sample_at(std::uint32_t sensor, std::int64_t time_ns, std::vector<std::int64_t> values) {
  Sample sample;
  sample.sensor = sensor;
  sample.time_ns = time_ns;
  sample.values = std::move(values);
  return sample;
}

MeasuredRun run_from(std::int64_t begin_ns, std::int64_t end_ns) {
  MeasuredRun run;
  run.begin_ns = begin_ns;
  run.host_ns = end_ns - begin_ns;
  return run;
}

}  // namespace

TEST_CASE("Run surroundings: clock and slowdowns come from the samples around each run") {
  const std::vector<Sensor> sensors = {
      takt_test::sensor_of(Sensor::Kind::device, "cuda 0", {Quantity::clock, Quantity::slowdowns})};
  const std::vector<Sample> samples = {sample_at(0, 0, {1980, 0}), sample_at(0, 100, {1200, 1}),
                                       sample_at(0, 200, {1980, Sample::kAbsent}), sample_at(0, 300, {1990, 0}),
                                       sample_at(0, 400, {1500, 2})};
  std::vector<MeasuredRun> runs = {run_from(10, 20), run_from(110, 120), run_from(210, 290), run_from(310, 320),
                                   run_from(410, 420)};
  note_surroundings(sensors, samples, runs);
  CHECK(runs[0].clock_mhz == 1200);  // from the next sample
  CHECK(runs[0].slowdowns == 1);
  CHECK(runs[1].clock_mhz == 1200);
  CHECK(runs[1].slowdowns == 1);
  CHECK(runs[2].clock_mhz == 1980);
  CHECK(runs[2].slowdowns == 1);  // unread at 200, so as at 100
  CHECK(runs[3].clock_mhz == 1500);
  CHECK(runs[3].slowdowns == 2);
  CHECK(runs[4].clock_mhz == 1500);  // after the last sample
  runs[4].forced_switches = 3;
  const MeasuredNotes notes = notes_on(runs);
  CHECK(notes.slowed_runs == 5);
  CHECK(notes.slowdowns == 3);
  CHECK(notes.min_clock_mhz == 1200);
  CHECK(notes.max_clock_mhz == 1980);
  CHECK(notes.switched_runs == 1);
  CHECK_FALSE(notes.others_busy);
}

TEST_CASE("Run surroundings: load of other processes is the machine's minus this process's") {
  std::vector<Sensor> sensors = {takt_test::sensor_of(Sensor::Kind::process, "process", {Quantity::cpu_time}),
                                 takt_test::sensor_of(Sensor::Kind::machine, "machine", {Quantity::cpu_time})};
  sensors[1].processors = 4;
  // The machine is sampled every 1,000 ns, this process every 100 ns, using 100 ns each time.
  std::vector<Sample> samples;
  for (std::int64_t time_ns = 0; time_ns <= 3000; time_ns += 100) {
    samples.push_back(sample_at(0, time_ns, {time_ns}));
    if (time_ns % 1000 == 0) {
      samples.push_back(sample_at(1, time_ns, {time_ns <= 1000 ? time_ns : 3 * time_ns - 2000}));
    }
  }
  std::vector<MeasuredRun> runs = {run_from(200, 300), run_from(1200, 1300), run_from(900, 1100)};
  note_surroundings(sensors, samples, runs);
  CHECK(runs[0].others_busy.value() == Approx(0));
  CHECK(runs[1].others_busy.value() == Approx(0.5));   // 3,000 by all, 1,000 by this process, of 4,000
  CHECK(runs[2].others_busy.value() == Approx(0.25));  // from 0 to 2,000
  CHECK(notes_on(runs).others_busy.value() == Approx(0.5));
}

TEST_CASE("Run surroundings: are empty without samples") {
  std::vector<MeasuredRun> runs = {run_from(1, 2)};
  note_surroundings({}, {}, runs);
  note_surroundings({takt_test::sensor_of(Sensor::Kind::device, "cuda 0", {Quantity::power})},
                    {sample_at(0, 0, {7}), sample_at(0, 1, {})}, runs);
  CHECK_FALSE(runs[0].clock_mhz);
  CHECK(runs[0].slowdowns == 0);
  CHECK_FALSE(runs[0].others_busy);
  CHECK_FALSE(notes_on({}).min_clock_mhz);
}
