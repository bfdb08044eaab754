// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace proxy {

/// An array of 32-bit floats from a NumPy file, row by row.
struct FloatArray {
  std::vector<std::size_t> shape;
  std::vector<float> values;
};

/// Returns the text after `name` in the header of a .npy file, up to the comma or bracket that ends it.
inline std::string header_value(const std::string& header, const std::string& name, char end) {
  const std::size_t at = header.find("'" + name + "':");
  if (at == std::string::npos) { throw std::runtime_error("the header has no '" + name + "'"); }
  const std::size_t begin = header.find_first_not_of(' ', at + name.size() + 3);
  const std::size_t stop = header.find(end, begin);
  if (begin == std::string::npos || stop == std::string::npos) { throw std::runtime_error("the header is cut off"); }
  return header.substr(begin, stop - begin);
}

/// Parses a shape such as "(2000, 5, 10".
inline std::vector<std::size_t> parse_shape(const std::string& text) {
  std::vector<std::size_t> shape;
  std::size_t values = 1;
  for (std::size_t at = 1; at < text.size();) {
    std::size_t length = 0;
    const unsigned long long extent = std::stoull(text.substr(at), &length);
    if (extent == 0 || extent > (std::size_t{1} << 40U) / values) { throw std::runtime_error("the shape is invalid"); }
    values *= static_cast<std::size_t>(extent);
    shape.push_back(static_cast<std::size_t>(extent));
    at = text.find_first_not_of(", ", at + length);
  }
  return shape;
}

/// Reads a .npy file (format 1.0: "\x93NUMPY", version, length of the header, the header as a Python dictionary,
/// values) of little-endian 32-bit floats in C order. Written by hand because no package that C++ can link reads it.
/// \throws std::runtime_error that names the file.
inline FloatArray read_npy(const std::string& path) {
  const auto refuse = [&path](const std::string& why) { return std::runtime_error(path + ": " + why); };
  std::ifstream file(path, std::ios::binary);
  char magic[10] = {};
  if (!file.read(magic, sizeof magic)) { throw refuse("cannot be read; create it with examples/make_mesh_data.py"); }
  if (std::memcmp(magic, "\x93NUMPY\x01", 7) != 0) { throw refuse("is not a .npy file of version 1"); }
  const auto byte = [&magic](int at) { return static_cast<unsigned>(static_cast<unsigned char>(magic[at])); };
  std::string header(byte(8) + byte(9) * 256U, '\0');
  FloatArray array;
  try {
    if (!file.read(&header[0], static_cast<std::streamsize>(header.size()))) { throw std::runtime_error("is cut off"); }
    if (header_value(header, "descr", ',') != "'<f4'") { throw std::runtime_error("does not contain 32-bit floats"); }
    if (header_value(header, "fortran_order", ',') != "False") { throw std::runtime_error("is not in C order"); }
    array.shape = parse_shape(header_value(header, "shape", ')'));
  } catch (const std::exception& error) { throw refuse(error.what()); }
  std::size_t count = 1;
  for (const std::size_t extent : array.shape) { count *= extent; }
  const auto begin = file.tellg();
  file.seekg(0, std::ios::end);
  if (static_cast<std::size_t>(file.tellg() - begin) < count * sizeof(float)) { throw refuse("is cut off"); }
  file.seekg(begin);
  array.values.resize(count);
  file.read(reinterpret_cast<char*>(array.values.data()), static_cast<std::streamsize>(count * sizeof(float)));
  return array;
}

}  // namespace proxy
