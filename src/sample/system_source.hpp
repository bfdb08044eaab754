// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "sample/powercap.hpp"
#include "sample/sample_source.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Samples what the kernel tells: of the process, of the machine, and of the energy of its processors.
class SystemSource final : public SampleSource {
 public:
  /// The machine is read so often at most: on a large one that takes the kernel a while.
  static constexpr std::int64_t kMachineNs = 1'000'000'000;

  struct Places {
    std::string proc = "/proc";
    std::string powercap = "/sys/class/powercap";
  };

  /// \param host by which the machine is known from others.
  /// \param places tests have others.
  explicit SystemSource(std::string host) : SystemSource(std::move(host), Places()) {}
  SystemSource(std::string host, Places places);

  const char* what() const noexcept override { return "the process and the machine"; }
  void open(std::vector<Meter>& meters, std::vector<Unsampled>& unsampled) override;
  void read(const NowNs& now, std::vector<Reading>& readings) override;

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;

  void add_process(std::vector<Meter>& meters);
  void add_machine(std::vector<Meter>& meters, std::vector<Unsampled>& unsampled);
  void add_processors(std::vector<Meter>& meters, std::vector<Unsampled>& unsampled);
  void read_process(std::int64_t now_ns, std::vector<Reading>& readings) const;
  void read_machine(std::int64_t now_ns, std::vector<Reading>& readings);
  void read_processors(std::int64_t now_ns, std::vector<Reading>& readings);
  bool machine_values(std::int64_t& cpu_ns, std::int64_t& memory_bytes) const;

  std::string host_;
  Places places_;
  std::optional<Powercap> powercap_;
  std::uint32_t process_ = kNone;  // places among the meters
  std::uint32_t machine_ = kNone;
  std::uint32_t processors_ = kNone;
  std::int64_t machine_due_ns_ = 0;
  bool has_io_ = false;
};

}  // namespace detail
TAKT_END_NAMESPACE
