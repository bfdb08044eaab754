// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/exporters/memory.hpp>

#include <deque>
#include <mutex>
#include <new>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace {

template <class T>
void append(std::deque<T>& kept, const std::vector<T>& more) {
  kept.insert(kept.end(), more.begin(), more.end());
}

template <class T>
void bound(std::deque<T>& kept, std::size_t max) {
  if (kept.size() > max) { kept.erase(kept.begin(), kept.end() - static_cast<std::ptrdiff_t>(max)); }
}

template <class T>
std::vector<T> copy_of(const std::deque<T>& kept) {
  return {kept.begin(), kept.end()};
}

}  // namespace

struct MemoryExporter::Impl {
  explicit Impl(std::size_t max_rows) : max(max_rows) {}

  mutable std::mutex mutex;
  const std::size_t max;
  ExportResult answer = ExportResult::ok;
  std::size_t calls = 0;
  Snapshot last;
  std::deque<Row> rows;
  std::deque<Metric> metrics;
  std::deque<Span> spans;
  std::deque<Sample> samples;
};

MemoryExporter::MemoryExporter(std::size_t max_rows) : impl_(std::make_shared<Impl>(max_rows)) {}
MemoryExporter::~MemoryExporter() = default;
MemoryExporter::MemoryExporter(const MemoryExporter&) = default;
MemoryExporter& MemoryExporter::operator=(const MemoryExporter&) = default;

ExportResult MemoryExporter::export_snapshot(const Snapshot& snapshot) {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  ++impl_->calls;
  if (impl_->answer != ExportResult::ok) { return impl_->answer; }
  const std::size_t before[] = {impl_->rows.size(), impl_->metrics.size(), impl_->spans.size(), impl_->samples.size()};
  try {
    Snapshot last = snapshot;
    append(impl_->rows, snapshot.rows);
    append(impl_->metrics, snapshot.metrics);
    append(impl_->spans, snapshot.spans);
    append(impl_->samples, snapshot.samples);
    impl_->last = std::move(last);
  } catch (const std::bad_alloc&) {  // all or nothing: the same data is delivered again
    impl_->rows.resize(before[0]);
    impl_->metrics.resize(before[1]);
    impl_->spans.resize(before[2]);
    impl_->samples.resize(before[3]);
    return ExportResult::retry;
  }
  bound(impl_->rows, impl_->max);
  bound(impl_->metrics, impl_->max);
  bound(impl_->spans, impl_->max);
  bound(impl_->samples, impl_->max);
  impl_->last.rows.clear();
  impl_->last.metrics.clear();
  impl_->last.samples.clear();
  impl_->last.spans.clear();
  return ExportResult::ok;
}

void MemoryExporter::answer(ExportResult result) {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  impl_->answer = result;
}

Snapshot MemoryExporter::last() const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  return impl_->last;
}

std::vector<Row> MemoryExporter::rows() const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  return copy_of(impl_->rows);
}

std::vector<Metric> MemoryExporter::metrics() const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  return copy_of(impl_->metrics);
}

std::vector<Span> MemoryExporter::spans() const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  return copy_of(impl_->spans);
}

std::vector<Sample> MemoryExporter::samples() const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  return copy_of(impl_->samples);
}

std::size_t MemoryExporter::snapshots() const {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  return impl_->calls;
}

TAKT_END_NAMESPACE
