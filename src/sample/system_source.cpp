// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "sample/system_source.hpp"

#include "base/file.hpp"
#include "base/region_memory.hpp"
#include "base/text.hpp"

#include <takt/detail/hot.hpp>
#include <takt/detail/not_cancelled.hpp>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace detail {

KernelFile::KernelFile(const char* path) noexcept {
  const NotCancelled whole;
  const Descriptor file(::open(path, O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) {
    error_ = errno;
    return;
  }
  ssize_t count = 0;
  do {
    count = ::read(file.number(), text_ + size_, sizeof text_ - size_);
    size_ += count > 0 ? static_cast<std::size_t>(count) : 0;
  } while (size_ < sizeof text_ && (count > 0 || (count < 0 && errno == EINTR)));
  if (count < 0) {
    error_ = errno;
    size_ = 0;
  }
}

bool take_number(std::string_view& text, std::uint64_t& value) noexcept {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) { return false; }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool KernelFile::number(std::uint64_t& value) const noexcept {
  std::string_view left = text();
  return take_number(left, value);
}

bool KernelFile::number_of(std::string_view name, std::uint64_t& value) const noexcept {
  for (std::string_view left = text(); !left.empty();) {
    if (left.substr(0, name.size()) == name) {
      left.remove_prefix(name.size());
      return take_number(left, value);
    }
    left.remove_prefix(std::min(left.find('\n'), left.size() - 1) + 1);
  }
  return false;
}

namespace {

// More than any machine has packages.
constexpr unsigned kMaxZones = 64;

}  // namespace

Powercap::Powercap(const std::string& directory) {
  if (::access(directory.c_str(), F_OK) != 0) {
    missing_ = "there is no " + directory;
    return;
  }
  // Top-level zones are numbered consecutively. Zones below them are parts of packages; another driver
  // (intel-rapl-mmio) reports the same packages again.
  for (unsigned number = 0; number < kMaxZones; ++number) {
    const std::string zone = directory + "/intel-rapl:" + std::to_string(number);
    if (::access(zone.c_str(), F_OK) != 0) { break; }
    add(zone);
  }
  if (zones_.empty() && missing_.empty()) { missing_ = "no processor tells its energy in " + directory; }
  if (!missing_.empty()) { zones_.clear(); }  // partial energy would look like the total
}

/// Adds a package zone. Skips other zones, such as the whole machine ("psys"), which includes the packages.
void Powercap::add(const std::string& directory) {
  const KernelFile name((directory + "/name").c_str());
  if (name.text().substr(0, 8) != "package-") { return; }
  std::uint64_t range = 0;
  KernelFile((directory + "/max_energy_range_uj").c_str()).number(range);
  const std::string file = directory + "/energy_uj";
  const KernelFile energy(file.c_str());
  std::uint64_t reading = 0;
  if (energy.number(reading)) {
    zones_.push_back({file, CounterSum(range)});
    return;
  }
  const int why = energy.error();
  missing_ = file + (why == EACCES || why == EPERM ? " is for root alone; who may change that makes it readable"
                                                   : " cannot be read: " + std::system_category().message(why));
}

bool Powercap::energy(std::int64_t& microjoules) {
  std::uint64_t sum = 0;
  for (Zone& zone : zones_) {
    std::uint64_t reading = 0;
    if (!KernelFile(zone.file.c_str()).number(reading)) { return false; }
    sum += zone.sum.add(reading);
  }
  microjoules = static_cast<std::int64_t>(sum);
  return !zones_.empty();
}

namespace {

constexpr std::uint64_t kKiB = 1024;

std::int64_t signed_value(std::uint64_t number) noexcept { return static_cast<std::int64_t>(number); }

std::int64_t number_of(const KernelFile& file, std::string_view name, std::uint64_t unit) noexcept {
  std::uint64_t value = 0;
  return file.number_of(name, value) ? signed_value(value * unit) : Sample::kAbsent;
}

std::string path_in(const std::string& directory, const char* file) { return directory + file; }

}  // namespace

SystemSource::SystemSource(std::string host, Places places) : host_(std::move(host)), places_(std::move(places)) {}

void SystemSource::open(std::vector<Sensor>& sensors, std::vector<Unsampled>& unsampled) {
  add_process(sensors);
  add_machine(sensors, unsampled);
  add_processors(sensors, unsampled);
}

void SystemSource::add_process(std::vector<Sensor>& sensors) {
  process_ = static_cast<std::uint32_t>(sensors.size());
  has_io_ = KernelFile(path_in(places_.proc, "/self/io").c_str()).error() == 0;
  Sensor sensor;
  sensor.kind = Sensor::Kind::process;
  sensor.name = "process";
  sensor.id = host_ + " pid " + std::to_string(::getpid());
  sensor.quantities = {Quantity::cpu_time,     Quantity::memory,   Quantity::peak_memory,    Quantity::minor_faults,
                       Quantity::major_faults, Quantity::switches, Quantity::forced_switches};
  if (has_io_) {
    sensor.quantities.push_back(Quantity::storage_read);
    sensor.quantities.push_back(Quantity::storage_written);
  }
  sensors.push_back(std::move(sensor));
}

void SystemSource::add_machine(std::vector<Sensor>& sensors, std::vector<Unsampled>& unsampled) {
  std::int64_t cpu_ns = 0;
  std::int64_t memory_bytes = 0;
  if (!machine_values(cpu_ns, memory_bytes)) {
    unsampled.push_back({"the machine", places_.proc + "/stat or " + places_.proc + "/meminfo does not tell it"});
    return;
  }
  machine_ = static_cast<std::uint32_t>(sensors.size());
  Sensor sensor;
  sensor.kind = Sensor::Kind::machine;
  sensor.name = "machine";
  sensor.id = host_;
  sensor.quantities = {Quantity::cpu_time, Quantity::memory};
  const std::int64_t total = number_of(KernelFile(path_in(places_.proc, "/meminfo").c_str()), "MemTotal:", kKiB);
  if (total != Sample::kAbsent && total != 0) { sensor.memory_bytes = static_cast<std::uint64_t>(total); }
  const long processors = ::sysconf(_SC_NPROCESSORS_ONLN);
  if (processors > 0) { sensor.processors = static_cast<std::uint32_t>(processors); }
  sensors.push_back(std::move(sensor));
}

void SystemSource::add_processors(std::vector<Sensor>& sensors, std::vector<Unsampled>& unsampled) {
  powercap_.emplace(places_.powercap);
  if (!powercap_->missing().empty()) {
    unsampled.push_back({"the energy of the processors", powercap_->missing()});
    return;
  }
  processors_ = static_cast<std::uint32_t>(sensors.size());
  Sensor sensor;
  sensor.kind = Sensor::Kind::processors;
  sensor.name = "processors";
  sensor.id = host_ + " processors";
  sensor.quantities = {Quantity::energy};
  sensors.push_back(std::move(sensor));
}

void SystemSource::read(const NowNs& now, std::vector<Reading>& readings) {
  const std::int64_t now_ns = now();
  if (processors_ != kNone) { read_processors(now_ns, readings); }
  if (process_ != kNone) { read_process(now_ns, readings); }
  if (machine_ != kNone && now_ns >= machine_due_ns_) { read_machine(now_ns, readings); }
}

void SystemSource::read_process(std::int64_t now_ns, std::vector<Reading>& readings) const {
  rusage used{};
  const bool known = ::getrusage(RUSAGE_SELF, &used) == 0;
  const auto counted = [known](long count) { return known ? std::int64_t{count} : Sample::kAbsent; };
  // Not the peak from getrusage(), which includes the program that ran in this process before exec().
  const KernelFile status(path_in(places_.proc, "/self/status").c_str());
  Reading reading;
  reading.sensor = process_;
  reading.time_ns = now_ns;
  reading.values = {signed_value(posix_ns(CLOCK_PROCESS_CPUTIME_ID)),
                    number_of(status, "VmRSS:", kKiB),
                    number_of(status, "VmHWM:", kKiB),
                    counted(used.ru_minflt),
                    counted(used.ru_majflt),
                    counted(used.ru_nvcsw),
                    counted(used.ru_nivcsw)};
  note_resident_sample(reading.values[1]);
  if (has_io_) {
    const KernelFile io(path_in(places_.proc, "/self/io").c_str());
    reading.values.push_back(number_of(io, "read_bytes:", 1));
    reading.values.push_back(number_of(io, "write_bytes:", 1));
  }
  readings.push_back(std::move(reading));
}

/// Reads the CPU time of all processes and the memory unavailable to programs.
bool SystemSource::machine_values(std::int64_t& cpu_ns, std::int64_t& memory_bytes) const {
  // user nice system idle iowait irq softirq steal; later fields are parts of the first two.
  constexpr unsigned kReported = 8;
  constexpr unsigned kIdle = 3;
  constexpr unsigned kIoWait = 4;
  const KernelFile stat(path_in(places_.proc, "/stat").c_str());
  std::string_view line = stat.text();
  if (line.substr(0, 4) != "cpu ") { return false; }
  line.remove_prefix(4);
  std::uint64_t busy = 0;
  for (unsigned field = 0; field < kReported; ++field) {
    std::uint64_t ticks = 0;
    if (!take_number(line, ticks)) { break; }  // very old kernels have fewer
    busy += field == kIdle || field == kIoWait ? 0 : ticks;
  }
  const long per_second = ::sysconf(_SC_CLK_TCK);
  if (per_second <= 0) { return false; }
  cpu_ns = signed_value(busy) * (kSecondNs / per_second);
  const KernelFile memory(path_in(places_.proc, "/meminfo").c_str());
  const std::int64_t total = number_of(memory, "MemTotal:", kKiB);
  const std::int64_t available = number_of(memory, "MemAvailable:", kKiB);
  if (total == Sample::kAbsent || available == Sample::kAbsent) { return false; }
  memory_bytes = total - available;
  return true;
}

void SystemSource::read_machine(std::int64_t now_ns, std::vector<Reading>& readings) {
  Reading reading;
  reading.sensor = machine_;
  reading.time_ns = now_ns;
  reading.values.assign(2, Sample::kAbsent);
  std::int64_t cpu_ns = 0;
  std::int64_t memory_bytes = 0;
  if (machine_values(cpu_ns, memory_bytes)) { reading.values = {cpu_ns, memory_bytes}; }
  readings.push_back(std::move(reading));
  machine_due_ns_ = now_ns + kMachineNs - kMachineNs / 20;  // tolerates a thread that is slightly early
}

void SystemSource::read_processors(std::int64_t now_ns, std::vector<Reading>& readings) {
  std::int64_t microjoules = Sample::kAbsent;
  powercap_->energy(microjoules);
  Reading reading;
  reading.sensor = processors_;
  reading.time_ns = now_ns;
  reading.values.push_back(microjoules);
  readings.push_back(std::move(reading));
}

}  // namespace detail
TAKT_END_NAMESPACE
