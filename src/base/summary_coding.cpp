// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/summary_coding.hpp"

#include "base/encoding.hpp"

#include <cstddef>
#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// Decodes the counts of one histogram.
class CountReader {
 public:
  explicit CountReader(std::string_view bytes) noexcept : decoder_(bytes) { next(); }

  /// False at the end and after an error; ok() distinguishes.
  bool has_bucket() const noexcept { return has_bucket_; }
  std::uint64_t bucket() const noexcept { return bucket_; }
  std::uint64_t count() const noexcept { return count_; }
  bool ok() const noexcept { return ok_; }

  void next() noexcept {
    const bool first = !has_bucket_;
    has_bucket_ = false;
    if (!ok_ || !decoder_.more()) { return; }
    std::uint64_t step = 0;
    decoder_.number(step);
    decoder_.number(count_);
    ok_ = decoder_.ok() && (step != 0 || first) && step < Histogram::buckets() - bucket_ && count_ != 0;
    bucket_ += step;
    has_bucket_ = ok_;
  }

 private:
  Decoder decoder_;
  std::uint64_t bucket_ = 0;
  std::uint64_t count_ = 0;
  bool has_bucket_ = false;
  bool ok_ = true;
};

/// Encodes the counts of one histogram.
class CountWriter {
 public:
  explicit CountWriter(std::string& out) noexcept : encoder_(out) {}

  void add(std::uint64_t bucket, std::uint64_t count) {
    encoder_.number(bucket - last_);
    encoder_.number(count);
    last_ = bucket;
  }

 private:
  Encoder encoder_;
  std::uint64_t last_ = 0;
};

}  // namespace

std::string counts_of(const Histogram& histogram) {
  const std::string_view packed = SummaryAccess::packed(histogram);
  if (packed.data() != nullptr) { return std::string(packed); }
  std::string bytes;
  CountWriter writer(bytes);
  histogram.each([&](unsigned bucket, std::uint64_t count) { writer.add(bucket, count); });
  return bytes;
}

std::string counts_of_one(std::uint64_t ns) {
  std::string bytes;
  CountWriter(bytes).add(Histogram::bucket_of(ns), 1);
  return bytes;
}

bool add_counts(std::string_view a, std::string_view b, std::string& out) {
  CountReader one(a);
  CountReader other(b);
  CountWriter writer(out);
  while (one.has_bucket() || other.has_bucket()) {
    const bool from_one = one.has_bucket() && (!other.has_bucket() || one.bucket() <= other.bucket());
    const bool from_other = other.has_bucket() && (!one.has_bucket() || other.bucket() <= one.bucket());
    const std::uint64_t bucket = from_one ? one.bucket() : other.bucket();
    writer.add(bucket, (from_one ? one.count() : 0) + (from_other ? other.count() : 0));
    if (from_one) { one.next(); }
    if (from_other) { other.next(); }
  }
  return one.ok() && other.ok();
}

bool set_counts(std::string_view bytes, Histogram& histogram) {
  CountReader reader(bytes);
  for (; reader.has_bucket(); reader.next()) {
    SummaryAccess::set_count(histogram, static_cast<unsigned>(reader.bucket()), reader.count());
  }
  return reader.ok();
}

}  // namespace detail
TAKT_END_NAMESPACE
