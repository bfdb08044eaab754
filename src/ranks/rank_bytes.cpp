// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "ranks/rank_bytes.hpp"

#include "base/encoding.hpp"
#include "base/summary_coding.hpp"
#include "ranks/rank_record.hpp"
#include "ranks/record_coding.hpp"

#include <takt/error.hpp>

#include <cstddef>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// Offsets in the header, which ends at `kSealedAt`.
enum SealField : std::size_t { kSealVersionAt = 8, kSealCrcAt = 12, kSealLengthAt = 16, kSealedAt = 24 };

/// Covers everything except the magic and the checksum itself.
std::uint32_t seal_checksum(std::string_view bytes) noexcept {
  const std::uint32_t started = crc32c(bytes.substr(kSealVersionAt, kSealCrcAt - kSealVersionAt));
  return crc32c(bytes.substr(kSealLengthAt), started);
}

}  // namespace

void refuse_bytes(const SealKind& kind, const std::string& why) { throw Error(std::string(kind.name) + ": " + why); }

std::string seal(const SealKind& kind, std::string_view values) {
  std::string bytes(kSealedAt, '\0');
  kind.magic.copy(bytes.data(), kSealVersionAt);
  bytes += values;
  store(bytes.data() + kSealVersionAt, kind.version);
  store(bytes.data() + kSealLengthAt, static_cast<std::uint64_t>(values.size()));
  store(bytes.data() + kSealCrcAt, seal_checksum(bytes));
  return bytes;
}

std::string_view unseal(const SealKind& kind, std::string_view bytes) {
  if (bytes.size() < kSealedAt || bytes.substr(0, kSealVersionAt) != kind.magic) {
    refuse_bytes(kind, "no valid header in " + std::to_string(bytes.size()) + " bytes");
  }
  const auto version = load<std::uint32_t>(bytes.data() + kSealVersionAt);
  if (version > kind.version) {
    refuse_bytes(kind, "it has version " + std::to_string(version) + ", but this Takt reads versions up to " +
                           std::to_string(kind.version) + "; use the Takt that wrote it or a newer one");
  }
  const auto length = load<std::uint64_t>(bytes.data() + kSealLengthAt);
  if (length != bytes.size() - kSealedAt) {
    refuse_bytes(kind, "its header announces " + std::to_string(length) + " bytes, but the data has " +
                           std::to_string(bytes.size() - kSealedAt));
  }
  if (load<std::uint32_t>(bytes.data() + kSealCrcAt) != seal_checksum(bytes)) {
    refuse_bytes(kind, "it is damaged: the checksum does not match");
  }
  return bytes.substr(kSealedAt);
}

// Serialisation of rank records.
namespace {

void write(Encoder& out, const Summary& summary) {
  const SummaryScalars numbers = SummaryAccess::scalars(summary);
  const std::string counts = counts_of(summary.histogram());
  std::string_view spelled = counts;
  visit_summary(out, numbers, spelled);
}

void write(Encoder& out, const RankSpread& spread) {
  const std::string counts = counts_of(spread.totals_us);
  std::string_view spelled = counts;
  std::uint64_t unbinned = spread.totals_us.unbinned();
  visit_spread(out, spread, unbinned, spelled);
}

void write(Encoder& out, const RankPath& path) {
  out.kind(path.kind);
  write(out, path.host);
  write(out, path.host_totals);
  const bool has_device = path.device_totals.ranks != 0;
  out.number(has_device);
  if (!has_device) { return; }
  write(out, path.device);
  write(out, path.device_totals);
}

void read(Decoder& in, Summary& summary) {
  SummaryScalars numbers;
  std::string_view counts;
  visit_summary(in, numbers, counts);
  if (!set_counts(counts, SummaryAccess::histogram(summary))) { refuse_counts(); }
  SummaryAccess::set_scalars(summary, numbers);
}

void read(Decoder& in, RankSpread& spread) {
  std::uint64_t unbinned = 0;
  std::string_view counts;
  visit_spread(in, spread, unbinned, counts);
  if (!set_counts(counts, spread.totals_us)) { refuse_counts(); }
  SummaryAccess::set_unbinned(spread.totals_us, unbinned);
}

void read(Decoder& in, RankPath& path) {
  in.kind(path.kind);
  read(in, path.host);
  read(in, path.host_totals);
  bool has_device = false;
  in.number(has_device);
  if (!has_device) { return; }
  read(in, path.device);
  read(in, path.device_totals);
}

}  // namespace

std::string pack(const RankRecord& record) {
  std::string values;
  Encoder encoder(values);
  write(encoder, record.wall);
  encoder.number(record.paths.size());
  for (const auto& [name, path] : record.paths) {
    encoder.list(name, [](Encoder& inner, const std::string& each) { inner.text(each); });
    write(encoder, path);
  }
  return seal(kRankSeal, values);
}

RankRecord unpack(std::string_view bytes) {
  Decoder decoder(unseal(kRankSeal, bytes));
  RankRecord record;
  read(decoder, record.wall);
  std::uint64_t count = 0;
  decoder.number(count);
  for (std::uint64_t at = 0; decoder.ok() && at < count; ++at) {
    RankPathName name;
    decoder.list(name, [](Decoder& inner, std::string& each) { inner.text(each); });
    if (!record.paths.empty() && !(record.paths.rbegin()->first < name)) { refuse_order(); }
    read(decoder, record.paths.emplace_hint(record.paths.end(), std::move(name), RankPath())->second);
  }
  if (!decoder.ok() || decoder.more()) { refuse_values(); }
  return record;
}

}  // namespace detail
TAKT_END_NAMESPACE
