// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/error.hpp>
#include <takt/models.hpp>

#include "support/catch.hpp"
#include "support/mentions.hpp"

#include <cstdint>
#include <limits>
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

TEST_CASE("mig_profile: 0 bytes do not count as a measurement") {
  CHECK(refusal_of(0, "A100-40GB").find("0 bytes") != std::string::npos);
}
