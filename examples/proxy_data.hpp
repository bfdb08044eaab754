// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The input of 22_inference_proxy: NumPy files with samples (mesh nodes), and the slack times of simulations.

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace proxy {

inline std::runtime_error error_in(const std::string& path, const std::string& why) {
  return std::runtime_error(path + ": " + why);
}

/// The array in a .npy file.
struct NpyFile {
  std::string path;
  std::vector<std::size_t> shape;
  std::size_t count = 1;       ///< values
  std::size_t value_size = 4;  ///< float or double
  bool fortran = false;        ///< the first index changes fastest, not the last
  std::streamoff begin = 0;    ///< position of the values
};

/// Returns the text after `name` in the header of a .npy file, up to the character that ends it.
inline std::string header_value(const std::string& header, const std::string& name, char end) {
  const std::size_t at = header.find("'" + name + "':");
  const std::size_t begin = at == std::string::npos ? at : header.find_first_not_of(' ', at + name.size() + 3);
  const std::size_t stop = begin == std::string::npos ? begin : header.find(end, begin);
  if (stop == std::string::npos) { throw std::runtime_error("no " + name); }
  return header.substr(begin, stop - begin);
}

/// Parses a shape such as "(2000, 5, 10".
inline std::vector<std::size_t> parse_shape(const std::string& text) {
  std::vector<std::size_t> shape;
  std::size_t values = 1;
  for (std::size_t at = 1; at < text.size();) {
    std::size_t length = 0;
    const unsigned long long extent = std::stoull(text.substr(at), &length);
    if (extent == 0 || extent > (std::size_t{1} << 40U) / values) { throw std::runtime_error("shape " + text + ")"); }
    values *= static_cast<std::size_t>(extent);
    shape.push_back(static_cast<std::size_t>(extent));
    at = text.find_first_not_of(", ", at + length);
  }
  return shape;
}

/// Reads the header of a .npy file: "\x93NUMPY", version, length, and a Python dictionary. Accepts arrays of
/// little-endian floats in C or Fortran order. Written by hand because no package that C++ can link reads it.
/// \throws std::runtime_error that names the file and the cure.
inline NpyFile open_npy(const std::string& path) {
  NpyFile npy;
  npy.path = path;
  std::ifstream file(path, std::ios::binary);
  if (!file) { throw error_in(path, "cannot be read; check its name and permissions"); }
  char start[12] = {};
  file.read(start, 10);
  if (!file || std::memcmp(start, "\x93NUMPY", 6) != 0 || start[6] < 1 || start[6] > 3) {
    throw error_in(path, "is not a .npy file of version 1 to 3; write it with numpy.save()");
  }
  if (start[6] > 1) { file.read(start + 10, 2); }  // later versions have a longer length
  std::size_t length = 0;
  for (int at = start[6] > 1 ? 11 : 9; at >= 8; --at) { length = length * 256 + static_cast<unsigned char>(start[at]); }
  std::string header(std::min<std::size_t>(length, 1U << 20U), '\0');
  std::string type;
  try {
    if (!file.read(&header[0], static_cast<std::streamsize>(header.size()))) { throw std::runtime_error("cut off"); }
    type = header_value(header, "descr", ',');
    npy.fortran = header_value(header, "fortran_order", ',') == "True";
    npy.shape = parse_shape(header_value(header, "shape", ')'));
  } catch (const std::exception& error) {
    throw error_in(path, std::string("its header is invalid (") + error.what() + "); write it with numpy.save()");
  }
  if (type != "'<f4'" && type != "'<f8'") {
    throw error_in(path, "has values of type " + type +
                             ", not little-endian floats; convert them with "
                             "numpy.save(file, array.astype('<f4'))");
  }
  npy.value_size = type == "'<f4'" ? 4 : 8;
  for (const std::size_t extent : npy.shape) { npy.count *= extent; }
  npy.begin = file.tellg();
  file.seekg(0, std::ios::end);
  const std::size_t bytes = static_cast<std::size_t>(file.tellg() - npy.begin);
  if (bytes < npy.count * npy.value_size) {
    throw error_in(path, "is cut off: it has " + std::to_string(bytes) + " of " +
                             std::to_string(npy.count * npy.value_size) + " bytes of values; copy it again");
  }
  return npy;
}

template <class T>
std::vector<float> read_values_of(const NpyFile& npy) {
  std::vector<T> values(npy.count);
  std::ifstream file(npy.path, std::ios::binary);
  file.seekg(npy.begin);
  if (!file.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(npy.count * sizeof(T)))) {
    throw error_in(npy.path, "cannot be read; check the disk");
  }
  return std::vector<float>(values.begin(), values.end());
}

/// Returns the values in the order of the file.
inline std::vector<float> read_values(const NpyFile& npy) {
  return npy.value_size == 8 ? read_values_of<double>(npy) : read_values_of<float>(npy);
}

/// Samples in a file: for each, 5 metrics at each of 10 time steps.
class SampleFile {
 public:
  static constexpr std::size_t kMetrics = 5;
  static constexpr std::size_t kSteps = 10;
  static constexpr std::size_t kValues = kMetrics * kSteps;

  /// \throws std::runtime_error if the shape has another meaning. The extents 5 and 10 tell metrics from steps.
  explicit SampleFile(const std::string& path) : npy_(open_npy(path)) {
    const std::vector<std::size_t>& shape = npy_.shape;
    steps_first_ = shape.size() == 3 && shape[1] == kSteps && shape[2] == kMetrics;
    if (steps_first_ || (shape.size() == 3 && shape[1] == kMetrics && shape[2] == kSteps)) { return; }
    std::string text;
    for (const std::size_t extent : shape) { text += (text.empty() ? "" : ", ") + std::to_string(extent); }
    throw error_in(path, "its shape (" + text + ") is neither (samples, 5 metrics, 10 steps) nor (samples, 10 steps, " +
                             "5 metrics); reshape the array, or move the file to another directory");
  }

  std::size_t samples() const { return npy_.shape[0]; }
  std::string layout() const {
    return std::string(steps_first_ ? "(samples, 10 steps, 5 metrics)" : "(samples, 5 metrics, 10 steps)") +
           (npy_.value_size == 8 ? ", float64, " : ", float32, ") + (npy_.fortran ? "Fortran order" : "C order");
  }

  /// Appends samples `first` to `last` - 1, each as 5 rows of 10 steps.
  void read(std::size_t first, std::size_t last, std::vector<float>& pool) const {
    const std::vector<float> values = read_values(npy_);
    const std::size_t rows = npy_.shape[1];
    const std::size_t columns = npy_.shape[2];
    for (std::size_t sample = first; sample < last; ++sample) {
      for (std::size_t at = 0; at < kValues; ++at) {
        const std::size_t row = steps_first_ ? at % kSteps : at / kSteps;
        const std::size_t column = steps_first_ ? at / kSteps : at % kSteps;
        pool.push_back(values[npy_.fortran ? sample + samples() * (row + rows * column)
                                           : (sample * rows + row) * columns + column]);
      }
    }
  }

 private:
  NpyFile npy_;
  bool steps_first_ = false;
};

/// Opens all .npy files of a directory, ordered by name, except weights and CRADL's labels.
inline std::vector<SampleFile> open_samples(const std::string& directory) {
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& each : std::filesystem::directory_iterator(directory, error)) {
    const std::string name = each.path().filename().string();
    const bool other = name == "weights.npy" || name.compare(0, 6, "labels") == 0;
    if (each.path().extension() == ".npy" && !other) { paths.push_back(each.path().string()); }
  }
  if (error) { throw error_in(directory, error.message() + "; name the directory of the .npy files"); }
  if (paths.empty()) {
    throw error_in(directory, "has no .npy files with samples; create one with examples/make_mesh_data.py");
  }
  std::sort(paths.begin(), paths.end());
  return std::vector<SampleFile>(paths.begin(), paths.end());
}

/// The slack time of a simulation, in which it leaves the device idle.
struct Problem {
  std::string name;
  double cycle_s = 0;  ///< slack time of a cycle
  double nodes = 0;    ///< of its mesh
  double ranks = 0;    ///< MPI ranks; 0: unknown
};

inline std::string lower(std::string text) {
  for (char& each : text) { each = static_cast<char>(std::tolower(static_cast<unsigned char>(each))); }
  return text;
}

/// Reads a file with the structure of CRADL's ale_data.json: "<problem>_cycle" in s, "<problem>_nodes", and optionally
/// "<problem>_ranks", which CRADL has in its source. \param wanted one problem, in any case; empty: all.
inline std::vector<Problem> read_problems(const std::string& path, const std::string& wanted) {
  static const std::map<std::string, Problem> known = {{"shocktube", {"ShockTube", 0, 0, 16}},
                                                       {"hohlraum", {"Hohlraum", 0, 0, 36}}};
  std::ifstream file(path);
  if (!file) { throw error_in(path, "cannot be read; name CRADL's ale_data.json with --slack"); }
  std::vector<Problem> problems;
  std::string names;
  try {
    const auto json = nlohmann::ordered_json::parse(file);
    for (const auto& [key, value] : json.items()) {
      if (key.size() < 7 || key.compare(key.size() - 6, 6, "_cycle") != 0) { continue; }
      const std::string name = key.substr(0, key.size() - 6);
      const auto found = known.find(name);
      Problem problem = found != known.end() ? found->second : Problem{name};
      problem.cycle_s = value.get<double>();
      problem.nodes = json.at(name + "_nodes").get<double>();
      problem.ranks = json.value(name + "_ranks", problem.ranks);
      if (problem.cycle_s < 1e-9 || problem.cycle_s > 1e9 || problem.nodes < 1 || problem.ranks < 0) {
        throw std::runtime_error(name + ": the slack time and the nodes must be above 0");
      }
      names += " " + problem.name;
      if (wanted.empty() || lower(wanted) == lower(problem.name)) { problems.push_back(problem); }
    }
  } catch (const std::exception& error) {
    throw error_in(path,
                   std::string(error.what()) + "; for each problem it needs \"NAME_cycle\" (s) and \"NAME_nodes\"");
  }
  if (problems.empty()) { throw error_in(path, "has no problem " + wanted + "; it has:" + names); }
  return problems;
}

}  // namespace proxy
