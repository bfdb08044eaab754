// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// A proxy for inference inside a simulation, after CRADL: in each simulation cycle a network reads the nodes of the mesh
// and selects those to relax. The program measures its time per cycle and per node, and compares it with the slack
// time, in which the simulation leaves the device idle. All figures are from Takt's regions. Its input is a directory
// of CRADL's .npy files; examples/make_mesh_data.py creates one. The network is a small one, on the processor or, with
// nvcc (-x cu), on the GPU; with libtorch (PROXY_WITH_TORCH) it can be a TorchScript model. Run it with --help for its
// options. With several ranks, each takes its share of the nodes.
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
#ifdef PROXY_WITH_TORCH
#include <takt/torch.hpp>

#include <torch/script.h>
#endif

#include "proxy_data.hpp"
#include "proxy_net.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
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

constexpr char kUsage[] =
    "usage: 22_inference_proxy DIR [option value]...\n"
    "DIR has .npy files of (samples, 5 metrics, 10 steps) or (samples, 10 steps, 5 metrics)\n"
    "  --percent 10            share of the samples; above 0 and up to 100, such as 0.5\n"
    "  --batch 2000            samples per batch\n"
    "  --cycles 10             simulation cycles\n"
    "  --slack ale_data.json   slack times of simulations\n"
    "  --problem ShockTube     compare with one simulation of that file; default: with all\n"
    "  --device cuda:0         cpu, cuda or cuda:INDEX; default: cuda if the program can use it, else cpu\n"
    "  --model FILE.pt         TorchScript model; needs a program built with libtorch; default: a small network\n"
    "  --pinned 0|1, --streams 1, --sync 0|1   for the small network on a GPU";

struct Options {
  std::string directory;
  double percent = 10;  // share of the samples
  int batch = 2000;     // nodes per batch
  int cycles = 10;
  std::string slack = TAKT_EXAMPLE_DATA_DIR "/ale_data.json";
  std::string problem;  // empty: all
  std::string device;   // empty: the default
  std::string model;    // empty: the small network
  int pinned = 1;       // use pinned host memory for copies
  int streams = 1;      // number of device streams
  int sync = 0;         // wait for the copy before the network starts
};

/// Parses a whole number from min to max, or another number above min.
template <class Number>
Number parse_number(const std::string& name, const std::string& text, Number min, Number max) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const bool fits = std::is_floating_point<Number>::value ? value > min && value <= max
                                                          : value >= min && value <= max && value == std::floor(value);
  if (!fits || end == text.c_str() || *end != '\0') {
    throw std::invalid_argument(name + " " + text + ": no such value\n" + kUsage);
  }
  return static_cast<Number>(value);
}

Options read_options(int count, char** arguments) {
  Options options;
  if (count < 2 || arguments[1][0] == '-') { throw std::invalid_argument(kUsage); }
  options.directory = arguments[1];
  const std::map<std::string, std::string*> texts = {{"--slack", &options.slack},
                                                     {"--problem", &options.problem},
                                                     {"--device", &options.device},
                                                     {"--model", &options.model}};
  struct Range {
    int* value;
    int min;
    int max;
  };
  const std::map<std::string, Range> numbers = {
      {"--batch", {&options.batch, 1, 1 << 20}}, {"--cycles", {&options.cycles, 1, 1 << 20}},
      {"--pinned", {&options.pinned, 0, 1}},     {"--streams", {&options.streams, 1, 16}},
      {"--sync", {&options.sync, 0, 1}},
  };
  for (int at = 2; at < count; at += 2) {
    const std::string name = arguments[at];
    const std::string text = at + 1 < count ? arguments[at + 1] : "";
    const auto number = numbers.find(name);
    const auto other = texts.find(name);
    if (text.empty()) { throw std::invalid_argument(name + " needs a value\n" + kUsage); }
    if (name == "--percent") {
      options.percent = parse_number(name, text, 0.0, 100.0);
    } else if (number != numbers.end()) {
      *number->second.value = parse_number(name, text, number->second.min, number->second.max);
    } else if (other != texts.end()) {
      *other->second = text;
    } else {
      throw std::invalid_argument(name + ": no such option\n" + kUsage);
    }
  }
  return options;
}

/// Returns the index of a device such as "cuda:1"; -1 for "cpu".
int device_index(const std::string& device) {
  if (device == "cpu") { return -1; }
  if (device == "cuda") { return 0; }
  if (device.compare(0, 5, "cuda:") != 0) {
    throw std::invalid_argument("--device " + device + ": it takes cpu, cuda or cuda:INDEX");
  }
  return parse_number("--device cuda:", device.substr(5), 0, 1023);
}

/// Reads this rank's share of the samples, in the order of the files.
std::vector<float> read_pool(const Options& options, const takt::RunInfo& run) {
  const takt::Scope s(MakePool);
  const std::vector<proxy::SampleFile> files = proxy::open_samples(options.directory);
  std::size_t samples = 0;
  std::map<std::string, std::pair<int, std::size_t>> layouts;  // files and samples
  for (const proxy::SampleFile& each : files) {
    samples += each.samples();
    ++layouts[each.layout()].first;
    layouts[each.layout()].second += each.samples();
  }
  const auto chosen = static_cast<std::size_t>(static_cast<double>(samples) * options.percent / 100);
  const auto rank = static_cast<std::size_t>(run.rank);
  const auto ranks = static_cast<std::size_t>(run.world_size);
  const std::size_t begin = chosen * rank / ranks;
  const std::size_t end = chosen * (rank + 1) / ranks;
  if (chosen < ranks) {
    throw std::runtime_error("fewer chosen samples (" + std::to_string(chosen) + " of " + std::to_string(samples) +
                             ") than ranks; raise --percent");
  }
  std::vector<float> pool;
  pool.reserve((end - begin) * Network::kValues);
  std::size_t first = 0;  // of the file
  for (const proxy::SampleFile& each : files) {
    const std::size_t from = std::max(begin, first);
    const std::size_t to = std::min(end, first + each.samples());
    if (from < to) { each.read(from - first, to - first, pool); }
    first += each.samples();
  }
  for (const auto& [layout, found] : layouts) {
    std::printf("input: %zu samples from %d file%s as %s\n", found.second, found.first, found.first == 1 ? "" : "s",
                layout.c_str());
  }
  std::printf("pool: samples %zu to %zu of %zu\n", begin, end, samples);
  return pool;
}

/// Reads the weights of the small network, or draws them if there are none.
std::vector<float> load_weights(const Options& options) {
  const takt::Scope s(LoadModel);
  const std::string path = options.directory + "/weights.npy";
  if (std::filesystem::exists(path)) {
    std::vector<float> weights = proxy::read_values(proxy::open_npy(path));
    if (weights.size() == Network::kWeights) { return weights; }
    throw proxy::error_in(path, "has " + std::to_string(weights.size()) + " weights, not the small network's " +
                                    std::to_string(Network::kWeights) + "; remove it, or use make_mesh_data.py's");
  }
  std::printf("model: no %s, so the small network's weights are random and the answers mean nothing\n", path.c_str());
  std::mt19937 random(1);
  std::vector<float> weights(Network::kWeights);
  for (float& each : weights) { each = static_cast<float>(random()) / 4294967296.0F - 0.5F; }
  return weights;
}

/// Runs inference on the processor.
class Worker {
 public:
  explicit Worker(const Options& options) : weights_(load_weights(options)) {}

  static constexpr const char* kWhere = "the processor";
  static bool on_stream() { return false; }

  // [snippet: inference]
  void infer(std::vector<float>& nodes, std::uint8_t* answers) {
    const takt::Scope inference(Inference);
    const takt::Scope s(Process);
    const proxy::Relax relax{{weights_.data()}, nodes.data(), answers};
    for (std::size_t node = 0; node < nodes.size() / Network::kValues; ++node) { relax(static_cast<int>(node), 0); }
  }
  // [end]
  void finish() {}

 private:
  std::vector<float> weights_;
};

inline constexpr takt::Key ToDevice{"ToDevice", takt::Kind::io};
inline constexpr takt::Key FromDevice{"FromDevice", takt::Kind::io};

#ifdef PROXY_WITH_TORCH
/// Runs inference with a TorchScript model on a device of libtorch.
class TorchWorker {
 public:
  explicit TorchWorker(const Options& options) : device_(options.device) {
    {
      const takt::Scope s(LoadModel);
      try {
        model_ = torch::jit::load(options.model, torch::kCPU);
      } catch (const c10::Error& error) {
        throw proxy::error_in(options.model, "is no TorchScript model that this libtorch reads; write it with " +
                                                 std::string("torch.jit.save(): ") + error.what_without_backtrace());
      }
    }
    model_.eval();
    model_.to(device_);
  }

  static constexpr const char* kWhere = "libtorch";
  bool on_stream() const { return device_.is_cuda(); }

  void infer(std::vector<float>& nodes, std::uint8_t* answers) {
    const torch::NoGradGuard no_gradients;
    const c10::DeviceGuard guard(device_);
    const auto count = static_cast<std::int64_t>(nodes.size() / Network::kValues);
    torch::Tensor values = torch::from_blob(nodes.data(), {count, Network::kMetrics, Network::kSteps});
    const takt::StreamRef stream = on_stream() ? takt::torch_stream() : takt::StreamRef();
    {
      const takt::Scope inference(Inference, stream);
      takt::Scope s(ToDevice, stream);
      values = values.to(device_);
      s.lap(Process);
      values = model_.forward({values}).toTensor();
      s.lap(FromDevice);
      values = values.to(torch::kCPU);
    }
    // one value per node: above 0 is to relax; two: the second is the larger one
    const std::int64_t columns = values.dim() == 0 || values.size(0) != count ? 0 : values.numel() / count;
    if (columns != 1 && columns != 2) {
      throw std::runtime_error("the model returned " + std::to_string(values.numel()) + " values for " +
                               std::to_string(count) + " nodes; it must return 1 or 2 per node");
    }
    values = values.reshape({count, columns});
    values = (columns == 1 ? values.select(1, 0) > 0 : values.select(1, 1) > values.select(1, 0)).contiguous();
    std::copy_n(values.data_ptr<bool>(), count, answers);
  }
  void finish() {}

 private:
  torch::Device device_;
  torch::jit::Module model_;
};
#endif

#ifdef PROXY_ON_GPU
inline constexpr takt::Key WaitForDevice{"WaitForDevice", takt::Kind::wait};

/// Runs inference on the GPU: batches alternate between the streams, and the host waits for one only to reuse its
/// memory.
class GpuWorker {
 public:
  explicit GpuWorker(const Options& options)
      : sync_(options.sync != 0), weights_(Network::kWeights, gpu::Array<float>::Place::device) {
    const std::vector<float> weights = load_weights(options);
    GPU_CHECK(GPU(Memcpy)(weights_.data(), weights.data(), weights_.bytes(), GPU(MemcpyHostToDevice)));
    const auto nodes = static_cast<std::size_t>(options.batch);
    for (int at = 0; at < options.streams; ++at) {
      slots_.push_back(std::make_unique<Slot>(nodes, options.pinned != 0));
    }
  }

  static constexpr const char* kWhere = "the GPU";
  static bool on_stream() { return true; }

  void infer(std::vector<float>& nodes, std::uint8_t* answers) {
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

/// Prints CRADL's figures, in its order. "By its README" and "by its source" are its two definitions of a figure.
void print_figures(const takt::Snapshot& run, const Options& options, const std::vector<float>& pool,
                   const std::vector<std::uint8_t>& answers) {
  const double inference = seconds_in(run, Inference);
  const double a_cycle = inference / options.cycles;
  const double bytes = static_cast<double>(pool.size()) * sizeof(float) * options.cycles;
  print("time for loading trained model weights and architecture", seconds_in(run, LoadModel) * 1e3, "ms");
  print("time for constructing and preprocessing the data pool", seconds_in(run, MakePool) * 1e3, "ms");
  print("time for inference", inference * 1e3, "ms");
  print("time for batch processing, by README (without copies)", seconds_in(run, Process) * 1e3, "ms");
  print("time for batch processing, by source (with copies)", inference * 1e3, "ms");
  print("time for inference per cycle", a_cycle * 1e3, "ms");
  print("inference time per node per cycle", a_cycle * 1e9 / static_cast<double>(answers.size()), "ns");
  print("data throughput", bytes / inference / 1e6, "MB/s");
  const auto relaxed = std::count(answers.begin(), answers.end(), std::uint8_t{1});
  std::printf("output data shape (%zu,): %lld of the nodes are to relax\n", answers.size(),
              static_cast<long long>(relaxed));
}

/// Prints the slack-time coverage. SCCN is per node of the mesh in CRADL's README, per node of a rank in its source.
void print_slack(const std::vector<proxy::Problem>& problems, const std::vector<takt::Slack>& slacks) {
  std::printf("%-10s %14s %10s %6s %10s %14s %16s %14s\n", "problem", "slack ms/cycle", "nodes", "ranks", "SCC %",
              "SCCN % by mesh", "SCCN % by a rank", "exposed cycles");
  for (std::size_t at = 0; at < problems.size(); ++at) {
    const proxy::Problem& problem = problems[at];
    const takt::SlackUse use = slacks[at].use();
    const double by_mesh = 100 * use.node_coverage;
    char by_rank[32] = "unknown";
    if (problem.ranks > 0) { std::snprintf(by_rank, sizeof by_rank, "%.6g", by_mesh / problem.ranks); }
    std::printf("%-10s %14.6g %10.0f %6.0f %10.6g %14.6g %16s %7llu of %llu\n", problem.name.c_str(),
                problem.cycle_s * 1e3, problem.nodes, problem.ranks, 100 * use.coverage, by_mesh, by_rank,
                static_cast<unsigned long long>(use.exposed_cycles), static_cast<unsigned long long>(use.cycles));
  }
}

template <class Doer>
void run(const Options& options) {
  takt::SessionOptions session_options = takt::SessionOptions::from_env();
  session_options.warmup = std::min(session_options.warmup, options.cycles / 10);
  takt::Session session("inference-proxy", session_options);
  const std::vector<proxy::Problem> problems = proxy::read_problems(options.slack, options.problem);
  Doer worker(options);
  const std::vector<float> pool = read_pool(options, session.run());
  std::vector<std::uint8_t> answers(pool.size() / Network::kValues);
  std::vector<takt::Slack> slacks;
  for (const proxy::Problem& each : problems) {
    // [snippet: slack]
    takt::SlackOptions slack_options;
    slack_options.region = "Inference";
    slack_options.budget = std::chrono::nanoseconds(std::llround(each.cycle_s * 1e9));
    slack_options.on_stream = worker.on_stream();
    slack_options.warmup = true;
    slack_options.nodes = each.nodes;
    const takt::Slack slack(slack_options);
    session.add(slack);
    // [end]
    slacks.push_back(slack);
  }
  session.param("batch", options.batch);
  session.param("nodes", answers.size());
  for (int number = 0; number < options.cycles; ++number) { cycle(worker, options, pool, answers); }
  const takt::Snapshot whole = session.snapshot();
  session.close();
  std::printf("rank %d of %d, on %s\n", whole.run.rank, whole.run.world_size, Doer::kWhere);
  print_figures(whole, options, pool, answers);
  print_slack(problems, slacks);
}

/// Runs inference on the device of the options, if the program can use it.
void run_on_device(Options options) {
#ifdef PROXY_WITH_TORCH
  if (!options.model.empty()) {
    if (options.device.empty()) { options.device = at::hasCUDA() ? "cuda" : "cpu"; }
    run<TorchWorker>(options);
    return;
  }
#else
  if (!options.model.empty()) { throw std::invalid_argument("--model needs a program built with libtorch"); }
#endif
  const int index = options.device.empty() ? -1 : device_index(options.device);
#ifdef PROXY_ON_GPU
  int devices = 0;
  if (GPU(GetDeviceCount)(&devices) != GPU(Success)) { devices = 0; }
  if (index >= devices) {
    throw std::invalid_argument("--device " + options.device + ": CUDA finds " + std::to_string(devices) +
                                " devices; use cpu or a lower index");
  }
  if (devices > 0 && options.device != "cpu") {
    GPU_CHECK(GPU(SetDevice)(std::max(index, 0)));
    run<GpuWorker>(options);
    return;
  }
#endif
  if (index >= 0) {
    throw std::invalid_argument("--device " + options.device + ": the small network of this program runs on cpu only" +
                                "; use example_22_inference_proxy_cuda, or --model with libtorch");
  }
  run<Worker>(options);
}

}  // namespace

int main(int count, char** arguments) {
  try {
    run_on_device(read_options(count, arguments));
    return 0;
#ifdef PROXY_WITH_TORCH
  } catch (const c10::Error& error) {
    std::fprintf(stderr, "22_inference_proxy: %s\n", error.what_without_backtrace());
    return 2;
#endif
  } catch (const std::exception& error) {
    std::fprintf(stderr, "22_inference_proxy: %s\n", error.what());
    return 2;
  }
}
