// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/job.hpp>
#include <takt/sample.hpp>
#include <takt/snapshot.hpp>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A quantity of a sensor, with the name and unit of a tracker's own client.
struct SystemMetric {
  std::string name;
  Quantity quantity;
  double scale;     ///< factor to the client's unit; for a counter, applied to its growth per ns
  double less = 0;  ///< subtracted from a value by the client, in Takt's unit
};

/// Returns whether the sensor is an NVIDIA GPU, which trackers' clients name differently. Any thread.
bool is_nvidia(const Sensor& sensor);
/// Returns whether the sensor is part of a GPU: trackers' clients report the memory of the whole GPU. Any thread.
bool is_slice(const Sensor& sensor);

/// Returns a tracker's metrics of a sensor: only those that its own client measures, too.
using SystemNaming = std::vector<SystemMetric> (*)(const Sensor& sensor);

/// Downsamples: one value per window and metric, the mean of the window's samples, or for a counter its growth over
/// time. Windows are aligned to the start of the run, so that values do not depend on when samples are seen. The window
/// in which the run ends has no value. Uses no clock. Memory: one window per sensor. One thread at a time.
class SystemMetrics {
 public:
  /// Value of a metric in a window.
  struct Value {
    std::string name;
    double value;
    std::int64_t window;  ///< number of the window, from 0
    std::int64_t end_ns;  ///< end of the window, in ns since the start of the run
  };

  SystemMetrics(SystemNaming naming, std::int64_t window_ns) : naming_(naming), window_ns_(window_ns) {}

  /// Adds the run's next sample. Returns the values of the sensor's previous window if this sample is the first one
  /// after it.
  std::vector<Value> add(const Snapshot& snapshot, const Sample& sample);

 private:
  struct Column {
    SystemMetric metric;
    std::size_t place;  // index in a sample's values
    double sum = 0;
    std::int64_t count = 0;
    // For a counter: start of its growth, and last value.
    bool started = false;
    std::int64_t from = 0;
    std::int64_t from_ns = 0;
    std::int64_t last = 0;
    std::int64_t last_ns = 0;
  };
  struct Window {
    bool known = false;        // columns are known
    std::int64_t number = -1;  // -1: no open window
    std::vector<Column> columns;
  };

  void learn(const Sensor& sensor, Window& window);
  std::vector<Value> close(Window& window, std::int64_t next) const;

  SystemNaming naming_;
  std::int64_t window_ns_;
  std::vector<Window> windows_;  // by sensor
  std::set<std::string> names_;  // each belongs to one sensor
};

/// Maximum number of a job's paths that trackers get. Each has six metrics, and six more if it is timed on a stream.
constexpr std::size_t kMaxJobPaths = 16;

/// Figures over ranks whose metrics have a common prefix.
struct JobMetrics {
  std::string stem;                                    ///< "total/ranks/time/Epoch/Batch"
  std::vector<std::pair<const char*, double>> values;  ///< by suffix: "/mean_s"
};

/// Returns the metrics of a job and of the paths in which its ranks spent the most time. Their number does not depend
/// on the number of ranks. Stems are unique. Layout of names: docs/mlflow.md. Any thread.
std::vector<JobMetrics> job_metrics(const Job& job);

/// Describes the data behind these metrics: "4 of 4", "61 of 64; missing: 5, 7, 9; the longest 16 of 40 paths".
/// Findings about ranks that wait for each other follow, one per line. Any thread.
std::string job_text(const Job& job);

}  // namespace detail
TAKT_END_NAMESPACE
