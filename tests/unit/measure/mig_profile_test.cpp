// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/error.hpp>
#include <takt/models.hpp>

#include "measure/mig_slices.hpp"
#include "support/catch.hpp"
#include "support/mentions.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace {

constexpr std::uint64_t kMegabyte = 1'000'000;
constexpr std::uint64_t kGigabyte = 1'000'000'000;

std::string refusal_of(std::uint64_t bytes, const std::string& device) {
  try {
    takt::mig_profile(bytes, device);
  } catch (const takt::Error& error) { return error.what(); }
  return "";
}

}  // namespace

TEST_CASE("mig_profile: matches the examples of DIPPM") {
  struct Example {
    const char* model;
    std::uint64_t predicted_mb;
    std::uint64_t measured_mb;
    const char* profile;
  };
  // The paper measures 1,652 MB for convnext base with a batch of 4, and reports fills of about 3,000 MB.
  const std::vector<Example> examples = {
      {"densenet121, 8", 2'865, 3'272, "1g.5gb"},      {"densenet121, 32", 5'952, 6'294, "2g.10gb"},
      {"swin base patch4, 2", 2'873, 2'944, "1g.5gb"}, {"swin base patch4, 16", 6'736, 6'156, "2g.10gb"},
      {"convnext base, 4", 4'771, 1'652, "1g.5gb"},    {"convnext base, 128", 26'439, 30'996, "7g.40gb"}};
  for (const Example& each : examples) {
    INFO(each.model);
    CHECK(takt::mig_profile(each.predicted_mb * kMegabyte) == std::string(each.profile));
    CHECK(takt::mig_profile(each.measured_mb * kMegabyte) == std::string(each.profile));
  }
}

TEST_CASE("mig_profile: an exact fit takes the next larger slice, and none exists above the largest") {
  for (const takt::MigDevice& device : takt::mig_devices()) {
    REQUIRE(device.slices.size() == 4);
    REQUIRE_FALSE(device.source.empty());
    CHECK(takt::mig_profile(1, device.name) == std::string(device.slices.front().profile));
    for (std::size_t at = 0; at < device.slices.size(); ++at) {
      const takt::MigSlice& slice = device.slices[at];
      INFO(device.name << " " << slice.profile);
      const std::string next = at + 1 == device.slices.size() ? "none" : std::string(device.slices[at + 1].profile);
      CHECK(takt::mig_profile(slice.memory_bytes - 1, device.name) == std::string(slice.profile));
      CHECK(takt::mig_profile(slice.memory_bytes, device.name) == next);
    }
    CHECK(takt::mig_profile(std::numeric_limits<std::uint64_t>::max(), device.name) == "none");
  }
}

TEST_CASE("mig_profile: limits of each device") {
  CHECK(takt::mig_profile(5 * kGigabyte, "A100-40GB") == "2g.10gb");
  CHECK(takt::mig_profile(19 * kGigabyte, "a100-40gb") == "3g.20gb");
  CHECK(takt::mig_profile(40 * kGigabyte, "A100-40GB") == "none");
  CHECK(takt::mig_profile(40 * kGigabyte, "A100-80GB") == "7g.80gb");
  CHECK(takt::mig_profile(15 * kGigabyte, "H100-80GB") == "2g.20gb");
  CHECK(takt::mig_profile(17 * kGigabyte, "H200-141GB") == "1g.18gb");
  CHECK(takt::mig_profile(70 * kGigabyte, "H200-141GB") == "3g.71gb");
  // A slice of that name has 16.00 GiB.
  CHECK(takt::mig_profile(17'500 * kMegabyte, "H200-141GB") == "2g.35gb");
  CHECK(takt::mig_profile(34'800 * kMegabyte, "H200-141GB") == "3g.71gb");
}

TEST_CASE("mig_profile: an unknown device is an error that names the known ones") {
  CHECK(takt_test::mentions(refusal_of(kGigabyte, "V100"),
                            {"mig_profile()", "\"V100\"", "A100-40GB, A100-80GB, H100-80GB, H200-141GB"}));
  CHECK(refusal_of(kGigabyte, "\x1b[2J").find("\"?[2J\"") != std::string::npos);
  CHECK(refusal_of(kGigabyte, std::string(100'000, 'x')).size() < 300);
  CHECK(refusal_of(kGigabyte, "") != "");
}

TEST_CASE("mig_fit: shares of slices as in DIPPM's examples, from its printed memory") {
  struct Fill {
    std::int64_t mb;
    std::array<int, 4> percent;  // cut or rounded in the paper; 0: the slice is too small
  };
  // densenet121 with 8 (memory on its slice) and 32 (predicted), convnext base with 128 (memory on the whole device).
  for (const Fill& each :
       std::vector<Fill>{{2'918, {58, 30, 15, 8}}, {5'952, {0, 60, 30, 16}}, {30'996, {0, 0, 0, 77}}}) {
    const auto fit = takt::detail::mig_fit(each.mb * 1'000'000, "A100-40GB");
    REQUIRE(fit.has_value());
    CHECK(takt::mig_profile(static_cast<std::uint64_t>(each.mb) * kMegabyte) == std::string(fit->profile));
    for (std::size_t at = 0; at < 4; ++at) {
      INFO(each.mb << " MB in " << fit->device->slices[at].profile);
      REQUIRE(fit->shares[at].has_value() == (each.percent[at] != 0));
      if (fit->shares[at]) { CHECK(100 * *fit->shares[at] == Approx(each.percent[at]).margin(1.2)); }
    }
  }
}

TEST_CASE("mig_fit: agrees with mig_profile at each limit, and knows no other devices") {
  for (const takt::MigDevice& device : takt::mig_devices()) {
    for (const takt::MigSlice& slice : device.slices) {
      for (const std::uint64_t bytes : {slice.memory_bytes - 1, slice.memory_bytes, slice.memory_bytes + 1}) {
        const auto fit = takt::detail::mig_fit(static_cast<std::int64_t>(bytes), device.name);
        REQUIRE(fit.has_value());
        CHECK(std::string(fit->profile) == takt::mig_profile(bytes, device.name));
      }
    }
  }
  CHECK_FALSE(takt::detail::mig_fit(5, "V100").has_value());
  CHECK_FALSE(takt::detail::mig_fit(5, "").has_value());
  CHECK_FALSE(takt::detail::mig_fit(0, "A100-40GB").has_value());
  CHECK_FALSE(takt::detail::mig_fit(std::nullopt, "A100-40GB").has_value());
}

TEST_CASE("MIG device: found by the model's name and the total memory together") {
  const auto device = [](const char* model, std::uint64_t mib) {
    takt::Sensor sensor;
    sensor.name = "cuda 0";
    sensor.model = model;
    if (mib != 0) { sensor.memory_bytes = mib << 20U; }
    return std::string(takt::detail::mig_device_of({sensor}, "cuda 0"));
  };
  CHECK(device("NVIDIA A100-SXM4-40GB", 40'960) == "A100-40GB");
  CHECK(device("A100-PCIE-40GB", 40'536) == "A100-40GB");
  CHECK(device("NVIDIA A100 80GB PCIe", 81'920) == "A100-80GB");
  CHECK(device("NVIDIA H100 80GB HBM3", 81'559) == "H100-80GB");
  CHECK(device("NVIDIA H100 PCIe", 81'559) == "H100-80GB");
  CHECK(device("NVIDIA H200", 143'771) == "H200-141GB");
  CHECK(device("NVIDIA H100 NVL", 95'830).empty());
  CHECK(device("NVIDIA GH200 480GB", 143'771).empty());
  CHECK(device("NVIDIA A100-SXM-64GB", 65'536).empty());
  CHECK(device("NVIDIA A100-SXM4-40GB MIG 1g.5gb", 4'864).empty());
  CHECK(device("NVIDIA H200", 0).empty());
  CHECK(device("", 81'920).empty());
  CHECK(takt::detail::mig_device_of({}, "allocator").empty());
}

TEST_CASE("mig_profile: 0 bytes do not count as a measurement") {
  CHECK(refusal_of(0, "A100-40GB").find("0 bytes") != std::string::npos);
}
