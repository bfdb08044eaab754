// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "ranks/sealed_bytes.hpp"

#include <takt/error.hpp>

#include "base/crc32c.hpp"
#include "base/encoding.hpp"

#include <cstddef>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// Offsets in the header, which `kSealedAt` ends.
enum SealField : std::size_t { kSealVersionAt = 8, kSealCrcAt = 12, kSealLengthAt = 16, kSealedAt = 24 };

/// Of all that is neither the name of the format nor the checksum itself.
std::uint32_t seal_checksum(std::string_view bytes) noexcept {
  const std::uint32_t begun = crc32c(bytes.substr(kSealVersionAt, kSealCrcAt - kSealVersionAt));
  return crc32c(bytes.substr(kSealLengthAt), begun);
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
    refuse_bytes(kind, "these " + std::to_string(bytes.size()) + " bytes are none");
  }
  const auto version = load<std::uint32_t>(bytes.data() + kSealVersionAt);
  if (version > kind.version) {
    refuse_bytes(kind, "it has version " + std::to_string(version) + ", and this Takt reads versions up to " +
                           std::to_string(kind.version) + "; read it with the Takt that wrote it, or a newer one");
  }
  const auto length = load<std::uint64_t>(bytes.data() + kSealLengthAt);
  if (length != bytes.size() - kSealedAt) {
    refuse_bytes(kind, "it says that " + std::to_string(length) + " bytes follow its header, and there are " +
                           std::to_string(bytes.size() - kSealedAt));
  }
  if (load<std::uint32_t>(bytes.data() + kSealCrcAt) != seal_checksum(bytes)) {
    refuse_bytes(kind, "it is damaged, as its checksum tells");
  }
  return bytes.substr(kSealedAt);
}

}  // namespace detail
TAKT_END_NAMESPACE
