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

/// A quantity of a meter, as a tracker's own client names and tells it.
struct SystemMetric {
  std::string name;
  Quantity quantity;
  double scale;     ///< a value times this is in the client's unit; of what counts up, the growth in a ns
  double less = 0;  ///< what the client leaves out of a value, in Takt's unit
};

/// Whether it is a GPU of NVIDIA's, as trackers' clients tell others of those. Any thread.
bool is_nvidia(const Sensor& sensor);
/// Whether it is a part of a GPU: its memory is not the one that trackers' clients tell. Any thread.
bool is_slice(const Sensor& sensor);

/// Those that a tracker has for a meter: where its own client measures the same, and nothing else.
using SystemNaming = std::vector<SystemMetric> (*)(const Sensor& sensor);

/// Thins samples out: one value for each window and metric, the mean of the samples in it, or of what counts up, its
/// growth over time. Windows lie on a grid that begins with the run, so that values do not depend on who saw which
/// samples when. The window in which the run ends has none. Knows no clock. Memory: that of one window a meter. One
/// thread at a time.
class SystemMetrics {
 public:
  /// What a window came to.
  struct Value {
    std::string name;
    double value;
    std::int64_t window;  ///< its number, from 0
    std::int64_t end_ns;  ///< since the start of the run
  };

  SystemMetrics(SystemNaming naming, std::int64_t window_ns) : naming_(naming), window_ns_(window_ns) {}

  /// The next sample of the run. Returns what is known by it: the values of its meter's window before, once it is the
  /// first behind that.
  std::vector<Value> add(const Snapshot& snapshot, const Sample& sample);

 private:
  struct Column {
    SystemMetric metric;
    std::size_t place;  // among the values of a sample
    double sum = 0;
    std::int64_t count = 0;
    // Of what counts up: where its growth is told from, and what came last.
    bool started = false;
    std::int64_t from = 0;
    std::int64_t from_ns = 0;
    std::int64_t last = 0;
    std::int64_t last_ns = 0;
  };
  struct Window {
    bool known = false;        // of the meter: its columns
    std::int64_t number = -1;  // none is open yet
    std::vector<Column> columns;
  };

  void learn(const Sensor& sensor, Window& window);
  std::vector<Value> close(Window& window, std::int64_t next) const;

  SystemNaming naming_;
  std::int64_t window_ns_;
  std::vector<Window> windows_;  // by meter
  std::set<std::string> names_;  // each is that of one meter
};

/// Paths of a job that trackers are told of: each has six metrics, and six more where it is timed on a stream.
constexpr std::size_t kMaxJobPaths = 16;

/// Figures over ranks whose metrics have the same beginning.
struct JobMetrics {
  std::string stem;                                    ///< "total/ranks/time/Epoch/Batch"
  std::vector<std::pair<const char*, double>> values;  ///< by what is behind it: "/mean_s"
};

/// What trackers get of a job, the same number of metrics however many ranks there are: of the job itself, and of the
/// paths in which its ranks spent most. No two stems are the same. Layout of names: docs/mlflow.md. Any thread.
std::vector<JobMetrics> job_metrics(const Job& job);

/// Of what these metrics are: "4 of 4", "61 of 64; missing: 5, 7, 9; the longest 16 of 40 paths". Who makes whom wait
/// stands below that, a line each. Any thread.
std::string job_text(const Job& job);

}  // namespace detail
TAKT_END_NAMESPACE
