// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace digits {

inline constexpr std::size_t kSide = 8;
inline constexpr std::size_t kPixels = kSide * kSide;
inline constexpr std::size_t kClasses = 10;

/// One handwritten digit as stored in the file.
struct Image {
  std::array<std::uint8_t, kPixels> pixels{};  ///< 0 (white) to 16 (black), row by row
  std::uint8_t label = 0;                      ///< the digit it shows
};

/// Images as input of the network: pixels from 0 to 1, one image after the other.
struct Minibatch {
  std::vector<float> pixels;
  std::vector<std::uint8_t> labels;
  std::size_t size() const { return labels.size(); }
  std::int64_t count() const { return static_cast<std::int64_t>(size()); }
};

/// Images in an order that can be shuffled.
class Dataset {
 public:
  explicit Dataset(std::vector<Image> images = {}) : images_(std::move(images)), order_(images_.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
  }

  std::size_t size() const { return images_.size(); }
  std::int64_t count() const { return static_cast<std::int64_t>(size()); }

  /// Fisher-Yates shuffle by hand: std::shuffle's order depends on the standard library.
  void shuffle(std::mt19937& random) {
    for (std::size_t left = order_.size(); left > 1; --left) { std::swap(order_[left - 1], order_[random() % left]); }
  }

  /// Returns the first `count` images of the order, and the others.
  std::pair<Dataset, Dataset> split(std::size_t count) const {
    std::vector<Image> first;
    std::vector<Image> second;
    for (std::size_t place = 0; place < size(); ++place) {
      (place < count ? first : second).push_back(images_[order_[place]]);
    }
    return {Dataset(std::move(first)), Dataset(std::move(second))};
  }

  /// Fills `batch` with at most `count` images from position `first` of the order. Returns the bytes read.
  std::int64_t gather(std::size_t first, std::size_t count, Minibatch& batch) const {
    const std::size_t end = std::min(first + count, size());
    batch.pixels.clear();
    batch.labels.clear();
    for (std::size_t place = first; place < end; ++place) {
      const Image& image = images_[order_[place]];
      for (const std::uint8_t pixel : image.pixels) { batch.pixels.push_back(static_cast<float>(pixel) / 16.0F); }
      batch.labels.push_back(image.label);
    }
    return static_cast<std::int64_t>(batch.size() * sizeof(Image));
  }

 private:
  std::vector<Image> images_;
  std::vector<std::size_t> order_;
};

/// Parses one line, 64 pixels and the label, into `image`. Returns false if it has another format.
inline bool parse_image(const std::string& line, Image& image) {
  const char* next = line.data();
  const char* const end = next + line.size();
  for (std::size_t field = 0; field <= kPixels; ++field) {
    unsigned value = 0;
    const auto [rest, error] = std::from_chars(next, end, value);
    const unsigned max = field < kPixels ? 16 : kClasses - 1;
    if (error != std::errc() || value > max) { return false; }
    (field < kPixels ? image.pixels[field] : image.label) = static_cast<std::uint8_t>(value);
    const bool last = field == kPixels;
    if (last ? rest != end : (rest == end || *rest != ',')) { return false; }
    next = rest + 1;
  }
  return true;
}

/// Reads a file in the format of data/README.md and adds its size to `bytes`.
/// \throws std::runtime_error with the problem and its line.
inline Dataset read_csv(const std::string& path, std::int64_t& bytes) {
  std::ifstream file(path);
  if (!file) { throw std::runtime_error("cannot open '" + path + "'"); }
  std::vector<Image> images;
  for (std::string line; std::getline(file, line);) {
    bytes += static_cast<std::int64_t>(line.size()) + 1;
    if (!line.empty() && line.back() == '\r') { line.pop_back(); }
    Image image;
    if (!parse_image(line, image)) {
      throw std::runtime_error(path + ", line " + std::to_string(images.size() + 1) +
                               ": expected 64 pixels of 0 to 16 and a digit, separated by commas");
    }
    images.push_back(image);
  }
  return Dataset(std::move(images));
}

}  // namespace digits
