// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "sample/sample_books.hpp"

#include <iterator>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {

SampleBooks::SampleBooks(std::int64_t interval_ns, std::size_t most_recent)
    : most_recent_(most_recent), energy_(interval_ns) {}

std::vector<std::uint32_t> SampleBooks::take(SampleQueue::News& news) {
  for (Meter& each : news.meters) {
    books_.emplace_back(each);
    meters_.push_back(std::move(each));
  }
  unsampled_.insert(unsampled_.end(), std::make_move_iterator(news.unsampled.begin()),
                    std::make_move_iterator(news.unsampled.end()));
  for (Sample& each : news.samples) {
    each.sequence = next_++;
    books_[each.meter].add(each);
    recent_.push_back(each);
    if (recent_.size() > most_recent_) { recent_.pop_front(); }
  }
  std::vector<std::uint32_t> lost;
  for (auto& [meter, why] : news.lost) {
    meters_[meter].lost = std::move(why);
    books_[meter].end();
    lost.push_back(meter);
  }
  return lost;
}

void SampleBooks::add(const std::vector<Row>& rows, const std::vector<Span>& spans, bool traced) {
  for (const Row& row : rows) { energy_.add_step(row, !traced); }
  for (const Span& span : spans) {
    if (span.stream == Span::kHost) { energy_.add_region(span.name, span.begin_ns, span.begin_ns + span.duration_ns); }
  }
}

void SampleBooks::settle(bool end) {
  EnergyBooks::Meters energies;
  for (MeterBooks& each : books_) {
    if (end) { each.end(); }
    energies.push_back(each.energy());
  }
  energy_.settle(energies, end);
}

void SampleBooks::tell(Snapshot& snapshot) const {
  snapshot.meters = meters_;
  for (std::size_t meter = 0; meter < books_.size(); ++meter) { books_[meter].tell(snapshot.meters[meter]); }
  snapshot.unsampled = unsampled_;
  snapshot.step_energies.clear();
  snapshot.region_energies.clear();
  energy_.tell(snapshot.step_energies, snapshot.region_energies, [&snapshot](std::uint32_t series) {
    return series < snapshot.series.size() ? snapshot.paths[snapshot.series[series].path].name : std::string();
  });
}

void SampleBooks::tell_losses(std::vector<Loss>& losses) const {
  if (energy_.dropped() != 0) { losses.push_back({"energies_dropped", "", energy_.dropped()}); }
}

std::vector<Sample> SampleBooks::between(std::int64_t begin_ns, std::int64_t end_ns) const {
  std::vector<Sample> found;
  std::vector<const Sample*> before(meters_.size());
  std::vector<bool> ended(meters_.size());
  for (const Sample& each : recent_) {
    if (each.time_ns <= begin_ns) { before[each.meter] = &each; }
  }
  for (const Sample& each : recent_) {
    const bool inside = each.time_ns > begin_ns ? !ended[each.meter] : before[each.meter] == &each;
    if (!inside) { continue; }
    if (each.time_ns >= end_ns) { ended[each.meter] = true; }
    found.push_back(each);
  }
  return found;
}

}  // namespace detail
TAKT_END_NAMESPACE
