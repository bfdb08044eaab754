// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "sample/energy_stats.hpp"
#include "sample/sampler.hpp"

#include <takt/config.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// The first 4 KiB of a file in /proc or /sys, which the kernel generates when read. Needs no memory.
class KernelFile {
 public:
  /// Reads the file. On failure the text is empty and error() has the reason.
  explicit KernelFile(const char* path) noexcept;

  std::string_view text() const noexcept { return {text_, size_}; }
  /// Returns true if the file may be longer.
  bool is_full() const noexcept { return size_ == sizeof text_; }
  int error() const noexcept { return error_; }  ///< errno of the read; 0: success
  /// Parses the number at the start of the text. Returns false if there is none.
  bool number(std::uint64_t& value) const noexcept;
  /// Parses the number after `name` at the start of a line. Returns false if there is none.
  bool number_of(std::string_view name, std::uint64_t& value) const noexcept;

 private:
  char text_[4096];
  std::size_t size_ = 0;
  int error_ = 0;
};

/// Parses and removes the number at the start of `text`, after blanks. Returns false if there is none.
bool take_number(std::string_view& text, std::uint64_t& value) noexcept;

/// Energy used by the machine's processors, from the kernel (powercap, RAPL), summed over all packages. The vendor
/// defines what a package includes; main memory is not part of it. Not thread-safe.
class Powercap {
 public:
  /// \param directory with the kernel's zones; tests use their own.
  explicit Powercap(const std::string& directory = "/sys/class/powercap");

  /// Returns why no energy can be read; empty if it can.
  const std::string& missing() const noexcept { return missing_; }
  /// Reads the energy since the first call, in uJ. Returns false if it can no longer be read.
  bool energy(std::int64_t& microjoules);

 private:
  struct Zone {
    std::string file;
    CounterSum sum;
  };
  void add(const std::string& directory);

  std::vector<Zone> zones_;
  std::string missing_;
};

/// Samples the kernel's data about the process, the machine, and the energy of its processors.
class SystemSource final : public SampleSource {
 public:
  /// Minimum interval for reading the machine, in ns: on a large one, this takes the kernel a while.
  static constexpr std::int64_t kMachineNs = 1'000'000'000;

  struct Places {
    std::string proc = "/proc";
    std::string powercap = "/sys/class/powercap";
  };

  /// \param host identifies the machine.
  /// \param places tests use their own.
  explicit SystemSource(std::string host) : SystemSource(std::move(host), Places()) {}
  SystemSource(std::string host, Places places);

  const char* what() const noexcept override { return "the process and the machine"; }
  void open(std::vector<Sensor>& sensors, std::vector<Unsampled>& unsampled) override;
  void read(const NowNs& now, std::vector<Reading>& readings) override;

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;

  void add_process(std::vector<Sensor>& sensors);
  void add_machine(std::vector<Sensor>& sensors, std::vector<Unsampled>& unsampled);
  void add_processors(std::vector<Sensor>& sensors, std::vector<Unsampled>& unsampled);
  void read_process(std::int64_t now_ns, std::vector<Reading>& readings) const;
  void read_machine(std::int64_t now_ns, std::vector<Reading>& readings);
  void read_processors(std::int64_t now_ns, std::vector<Reading>& readings);
  bool machine_values(std::int64_t& cpu_ns, std::int64_t& memory_bytes) const;

  std::string host_;
  Places places_;
  std::optional<Powercap> powercap_;
  std::uint32_t process_ = kNone;  // indices of the sensors
  std::uint32_t machine_ = kNone;
  std::uint32_t processors_ = kNone;
  std::int64_t machine_due_ns_ = 0;
  bool has_io_ = false;
};

}  // namespace detail
TAKT_END_NAMESPACE
