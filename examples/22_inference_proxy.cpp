// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// A proxy for inference inside a simulation, after CRADL: in each simulation cycle a small network reads the nodes of
// the mesh and selects those to relax. The program measures its time per cycle and per node, and compares it with the
// slack time, in which the simulation leaves the device idle. All figures are from Takt's regions.
// examples/make_mesh_data.py creates its input. With nvcc (-x cu) it runs on the GPU, else on the processor. Run it
// with --help for its options. With several ranks, each takes its share of the nodes.
#ifdef __CUDACC__
#define PROXY_ON_GPU
#endif
#ifdef PROXY_ON_GPU
#include <takt/backends/cuda.hpp>

#include "gpu_net.hpp"
#include "gpu_runtime.hpp"
#endif
#include <takt/exporters/slack.hpp>
#include <takt/takt.hpp>

#include "proxy_data.hpp"
#include "proxy_net.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

// [snippet: keys]
inline constexpr takt::Key LoadModel{"LoadModel", takt::Kind::io};
inline constexpr takt::Key MakePool{"MakePool", takt::Kind::io};
inline constexpr takt::Key MakeBatch{"MakeBatch", takt::Kind::io};
inline constexpr takt::Key Inference{"Inference", takt::Kind::compute};  // with copies to and from the device
inline constexpr takt::Key Process{"Process", takt::Kind::compute};      // the network alone
// [end]

namespace {

using proxy::Network;

struct Options {
  std::string directory = ".";
  int batch = 2000;  // nodes per batch
  int percent = 10;  // share of the pool
  int cycles = 10;
  int pinned = 1;   // use pinned host memory for copies
  int streams = 1;  // number of device streams
  int sync = 0;     // wait for the copy before the network starts
};

Options read_options(int count, char** arguments) {
  Options options;
  const struct {
    const char* name;
    int* value;
    int min;
    int max;
  } known[] = {{"--batch", &options.batch, 1, 1 << 20},   {"--percent", &options.percent, 1, 100},
               {"--cycles", &options.cycles, 1, 1 << 20}, {"--pinned", &options.pinned, 0, 1},
               {"--streams", &options.streams, 1, 16},    {"--sync", &options.sync, 0, 1}};
  const std::string usage =
      "usage: 22_inference_proxy DIR [--batch 2000] [--percent 10] [--cycles 10] [--pinned 0|1] [--streams 1] "
      "[--sync 0|1]; DIR is the output of examples/make_mesh_data.py; pinned, streams and sync are for GPUs";
  if (count < 2 || arguments[1][0] == '-') { throw std::invalid_argument(usage); }
  options.directory = arguments[1];
  for (int at = 2; at < count; at += 2) {
    const std::string name = arguments[at];
    const auto* const found =
        std::find_if(std::begin(known), std::end(known), [&](const auto& each) { return each.name == name; });
    const int value = at + 1 < count ? std::atoi(arguments[at + 1]) : -1;
    if (found == std::end(known) || value < found->min || value > found->max) { throw std::invalid_argument(usage); }
    *found->value = value;
  }
  return options;
}

/// Time that the simulation leaves free.
struct SlackTimes {
  double ms_per_cycle = 0;
  double ns_per_node = 0;
};

SlackTimes read_slack(const std::string& path) {
  std::ifstream file(path);
  if (!file) { throw std::runtime_error(path + " cannot be read; create it with examples/make_mesh_data.py"); }
  const nlohmann::json json = nlohmann::json::parse(file);
  const SlackTimes slack = {json.at("ms_per_cycle").get<double>(), json.at("ns_per_node").get<double>()};
  if (slack.ms_per_cycle <= 0 || slack.ns_per_node <= 0) {
    throw std::runtime_error(path + ": slack times must be above 0");
  }
  return slack;
}

/// Reads the nodes of this rank's share.
std::vector<float> read_pool(const Options& options, const takt::RunInfo& run) {
  const takt::Scope s(MakePool);
  proxy::FloatArray all = proxy::read_npy(options.directory + "/nodes.npy");
  if (all.shape.size() != 3 || all.shape[1] != Network::kMetrics || all.shape[2] != Network::kSteps) {
    throw std::runtime_error("nodes.npy: its shape must be nodes x 5 metrics x 10 steps");
  }
  const std::size_t chosen = std::max<std::size_t>(all.shape[0] * static_cast<std::size_t>(options.percent) / 100, 1);
  const auto rank = static_cast<std::size_t>(run.rank);
  const auto ranks = static_cast<std::size_t>(run.world_size);
  const auto begin = static_cast<std::ptrdiff_t>(chosen * rank / ranks * Network::kValues);
  const auto end = static_cast<std::ptrdiff_t>(chosen * (rank + 1) / ranks * Network::kValues);
  return std::vector<float>(all.values.begin() + begin, all.values.begin() + end);
}

/// Runs inference on the processor.
class Worker {
 public:
  Worker(const Options& options, const std::vector<float>& weights) : network_{weights.data()} { (void)options; }

  static constexpr const char* kWhere = "the processor";
  static constexpr bool kOnStream = false;

  // [snippet: inference]
  void infer(const std::vector<float>& nodes, std::uint8_t* answers) {
    const takt::Scope inference(Inference);
    const takt::Scope s(Process);
    const proxy::Relax relax{network_, nodes.data(), answers};
    for (std::size_t node = 0; node < nodes.size() / Network::kValues; ++node) { relax(static_cast<int>(node), 0); }
  }
  // [end]
  void finish() {}

 private:
  Network network_;
};

#ifdef PROXY_ON_GPU
inline constexpr takt::Key ToDevice{"ToDevice", takt::Kind::io};
inline constexpr takt::Key FromDevice{"FromDevice", takt::Kind::io};
inline constexpr takt::Key WaitForDevice{"WaitForDevice", takt::Kind::wait};

/// Runs inference on the GPU: batches alternate between the streams, and the host waits for one only to reuse its
/// memory.
class GpuWorker {
 public:
  GpuWorker(const Options& options, const std::vector<float>& weights)
      : sync_(options.sync != 0), weights_(weights.size(), gpu::Array<float>::Place::device) {
    GPU_CHECK(GPU(Memcpy)(weights_.data(), weights.data(), weights_.bytes(), GPU(MemcpyHostToDevice)));
    const auto nodes = static_cast<std::size_t>(options.batch);
    for (int at = 0; at < options.streams; ++at) {
      slots_.push_back(std::make_unique<Slot>(nodes, options.pinned != 0));
    }
  }

  static constexpr const char* kWhere = "the GPU";
  static constexpr bool kOnStream = true;

  void infer(const std::vector<float>& nodes, std::uint8_t* answers) {
    Slot& slot = *slots_[next_++ % slots_.size()];
    finish(slot);
    std::copy(nodes.begin(), nodes.end(), slot.staged());
    const int count = static_cast<int>(nodes.size() / Network::kValues);
    const GPU(Stream_t) stream = slot.stream;
    takt::Scope inference(Inference, stream);
    takt::Scope s(ToDevice, stream);
    const std::size_t bytes = nodes.size() * sizeof(float);
    GPU_CHECK(GPU(MemcpyAsync)(slot.nodes.data(), slot.staged(), bytes, GPU(MemcpyHostToDevice), stream));
    if (sync_) { GPU_CHECK(GPU(StreamSynchronize)(stream)); }
    s.lap(Process);
    gpu::OnDevice{stream}(proxy::Relax{{weights_.data()}, slot.nodes.data(), slot.answers.data()}, count, 1);
    s.lap(FromDevice);
    GPU_CHECK(GPU(MemcpyAsync)(slot.results(), slot.answers.data(), static_cast<std::size_t>(count),
                               GPU(MemcpyDeviceToHost), stream));
    GPU_CHECK(GPU(EventRecord)(slot.done, stream));
    slot.answers_of_pool = answers;
    slot.count = static_cast<std::size_t>(count);
  }
  /// Waits for all batches.
  void finish() {
    for (const auto& each : slots_) { finish(*each); }
  }

 private:
  /// A batch in flight.
  struct Slot {
    Slot(std::size_t max, bool is_pinned)
        : nodes(max * Network::kValues, gpu::Array<float>::Place::device),
          answers(max, gpu::Array<std::uint8_t>::Place::device),
          pinned_nodes(is_pinned ? nodes.size() : 1, gpu::Array<float>::Place::host),
          pinned_answers(is_pinned ? max : 1, gpu::Array<std::uint8_t>::Place::host),
          pageable_nodes(is_pinned ? 0 : nodes.size()),
          pageable_answers(is_pinned ? 0 : max) {}
    float* staged() { return pageable_nodes.empty() ? pinned_nodes.data() : pageable_nodes.data(); }
    std::uint8_t* results() { return pageable_answers.empty() ? pinned_answers.data() : pageable_answers.data(); }

    gpu::Stream stream;
    gpu::Event done;
    gpu::Array<float> nodes;
    gpu::Array<std::uint8_t> answers;
    gpu::Array<float> pinned_nodes;
    gpu::Array<std::uint8_t> pinned_answers;
    std::vector<float> pageable_nodes;
    std::vector<std::uint8_t> pageable_answers;
    std::uint8_t* answers_of_pool = nullptr;
    std::size_t count = 0;
  };

  static void finish(Slot& slot) {
    if (slot.count == 0) { return; }
    {
      const takt::Scope wait(WaitForDevice);
      GPU_CHECK(GPU(EventSynchronize)(slot.done));
    }
    std::copy_n(slot.results(), slot.count, slot.answers_of_pool);
    slot.count = 0;
  }

  bool sync_;
  gpu::Array<float> weights_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::size_t next_ = 0;
};
#endif

/// Runs one simulation cycle: the nodes in batches.
template <class Doer>
void cycle(Doer& worker, const Options& options, const std::vector<float>& pool, std::vector<std::uint8_t>& answers) {
  takt::Scope cycle(takt::Batch);  // one cycle is one of Takt's steps
  const auto values = static_cast<std::size_t>(options.batch) * Network::kValues;
  std::vector<float> nodes;
  for (std::size_t first = 0; first < pool.size(); first += values) {
    {
      const takt::Scope s(MakeBatch);
      const auto end = static_cast<std::ptrdiff_t>(std::min(first + values, pool.size()));
      nodes.assign(pool.begin() + static_cast<std::ptrdiff_t>(first), pool.begin() + end);
    }
    worker.infer(nodes, &answers[first / Network::kValues]);
  }
  worker.finish();
  cycle.items(static_cast<std::int64_t>(answers.size()));
}

/// Returns the time of all calls of a region, with warm-up, in s; device time if it was timed there.
double seconds_in(const takt::Snapshot& run, const takt::Key& key) {
  std::uint64_t host_ns = 0;
  std::uint64_t device_ns = 0;
  for (const takt::PathStats& each : run.paths) {
    if (each.name != key.name()) { continue; }
    host_ns += each.host.total_ns();
    device_ns += each.device.total_ns();
  }
  return static_cast<double>(device_ns != 0 ? device_ns : host_ns) / 1e9;
}

void print(const char* what, double value, const char* unit) { std::printf("%-58s %12.6g %s\n", what, value, unit); }

/// Prints CRADL's figures, in its order.
void print_figures(const takt::Snapshot& run, const Options& options, const std::vector<float>& pool,
                   const std::vector<std::uint8_t>& answers, const SlackTimes& slack, const takt::SlackUse& use) {
  const double inference = seconds_in(run, Inference);
  const double a_cycle = inference / options.cycles;
  const double a_node = a_cycle / static_cast<double>(answers.size());
  const double bytes = static_cast<double>(pool.size()) * sizeof(float) * options.cycles;
  print("time for loading trained model weights and architecture", seconds_in(run, LoadModel) * 1e3, "ms");
  print("time for constructing and preprocessing the data pool", seconds_in(run, MakePool) * 1e3, "ms");
  print("time for inference", inference * 1e3, "ms");
  print("time for batch processing", seconds_in(run, Process) * 1e3, "ms");
  print("time for inference per cycle", a_cycle * 1e3, "ms");
  print("inference time per node per cycle", a_node * 1e9, "ns");
  print("data throughput", bytes / inference / 1e6, "MB/s");
  print("SCC, slack-time coverage per cycle", 100 * a_cycle * 1e3 / slack.ms_per_cycle, "%");
  print("SCCN, slack-time coverage per node", 100 * a_node * 1e9 / slack.ns_per_node, "%");
  std::printf("%llu cycles after warm-up; %llu exceeded their slack time; %.6g ms per cycle are exposed\n",
              static_cast<unsigned long long>(use.cycles), static_cast<unsigned long long>(use.exposed_cycles),
              use.exposed_ns / 1e6);
  const auto relaxed = std::count(answers.begin(), answers.end(), std::uint8_t{1});
  std::printf("output data shape (%zu,): %lld of the nodes are to relax\n", answers.size(),
              static_cast<long long>(relaxed));
}

template <class Doer>
void run(const Options& options) {
  takt::SessionOptions session_options = takt::SessionOptions::from_env();
  session_options.warmup = std::min(session_options.warmup, options.cycles / 10);
  takt::Session session("inference-proxy", session_options);
  const SlackTimes times = read_slack(options.directory + "/slack.json");
  // [snippet: slack]
  const takt::Slack slack(
      {"Inference", std::chrono::nanoseconds(std::llround(times.ms_per_cycle * 1e6)), Doer::kOnStream});
  session.add(slack);
  // [end]
  std::vector<float> weights;
  {
    const takt::Scope s(LoadModel);
    weights = proxy::read_npy(options.directory + "/weights.npy").values;
  }
  if (weights.size() != Network::kWeights) { throw std::runtime_error("weights.npy does not fit this network"); }
  const std::vector<float> pool = read_pool(options, session.run());
  std::vector<std::uint8_t> answers(pool.size() / Network::kValues);
  if (answers.empty()) { throw std::runtime_error("fewer nodes than ranks; raise --percent"); }
  session.param("batch", options.batch);
  session.param("nodes", answers.size());
  Doer worker(options, weights);
  for (int number = 0; number < options.cycles; ++number) { cycle(worker, options, pool, answers); }
  const takt::Snapshot whole = session.snapshot();
  session.close();
  std::printf("rank %d of %d, on %s\n", whole.run.rank, whole.run.world_size, Doer::kWhere);
  print_figures(whole, options, pool, answers, times, slack.use());
}

}  // namespace

int main(int count, char** arguments) {
  try {
    const Options options = read_options(count, arguments);
#ifdef PROXY_ON_GPU
    if (gpu::has_device()) {
      run<GpuWorker>(options);
      return 0;
    }
#endif
    run<Worker>(options);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "22_inference_proxy: %s\n", error.what());
    return 2;
  }
}
