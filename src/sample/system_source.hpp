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

/// What a file of /proc or /sys says, which the kernel makes as it is read: the first 4 KiB of it. Needs no memory.
class KernelFile {
 public:
  /// Where it cannot be read it has no text, and error() says why.
  explicit KernelFile(const char* path) noexcept;

  std::string_view text() const noexcept { return {text_, size_}; }
  int error() const noexcept { return error_; }  ///< an errno; 0: it was read
  /// The number that the text begins with. False: there is none.
  bool number(std::uint64_t& value) const noexcept;
  /// The number behind `name`, which begins a line. False: there is none.
  bool number_of(std::string_view name, std::uint64_t& value) const noexcept;

 private:
  char text_[4096];
  std::size_t size_ = 0;
  int error_ = 0;
};

/// The number at the start of `text`, behind blanks, which goes from it. False: there is none.
bool take_number(std::string_view& text, std::uint64_t& value) noexcept;

/// The energy that the processors of the machine have used, as the kernel tells it (powercap, RAPL): of all packages
/// together. What a package is, is the vendor's; main memory is no part of it. One thread at a time.
class Powercap {
 public:
  /// \param directory where the kernel has its zones; tests have one of their own.
  explicit Powercap(const std::string& directory = "/sys/class/powercap");

  /// Why there is nothing to read; empty: there is.
  const std::string& missing() const noexcept { return missing_; }
  /// In uJ since the first call. False: it cannot be read any more.
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
  std::uint32_t process_ = kNone;  // places among the meters
  std::uint32_t machine_ = kNone;
  std::uint32_t processors_ = kNone;
  std::int64_t machine_due_ns_ = 0;
  bool has_io_ = false;
};

}  // namespace detail
TAKT_END_NAMESPACE
